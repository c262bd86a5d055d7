"""The tools and the resource as a client sees them; no image is needed here."""

import base64
import json
import struct

import jsonschema
import pytest

from support import mcp_client, mcp_schema

IMAGES = {"run_python_code": "python", "run_javascript_code": "node", "run_bash_code": "bash"}
TOOLS = [*IMAGES][:2]  # those that are always there


def call_with(server, arguments, tool="run_python_code"):
    return server.result("tools/call", {"name": tool, "arguments": arguments})


def test_tools_have_what_clients_look_for(server, images):
    tools = [tool for tool in server.result("tools/list")["tools"] if tool["name"] != "run_code"]  # test_languages.py
    assert [tool["name"] for tool in tools] == \
        [name for name, image in IMAGES.items() if name in TOOLS or image in images]
    for tool in tools:
        assert tool["title"] and len(tool["description"]) > 100
        assert "outputSchema" not in tool
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and schema["required"] == ["code"]
        assert list(schema["properties"]) == ["code", "timeout_seconds", "session", "stdin", "files"]
        assert schema["properties"]["code"]["type"] == "string"
        hints = {key: value for key, value in tool["annotations"].items() if key != "title"}
        assert hints == {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False,
                         "openWorldHint": False}


@pytest.mark.parametrize("options", [[], ["--timeout", "0.5"], ["--timeout-max", "300"]])
def test_schemas_and_their_examples_are_valid(start, options):
    server = start("--result-format", "structured", *options)
    server.initialize()
    for tool in server.result("tools/list")["tools"]:
        schema = tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        examples = schema["properties"]["code"]["examples"]
        assert examples
        choice = {name: about["enum"][0] for name, about in schema["properties"].items() if name == "language"}
        for example in examples:
            jsonschema.Draft202012Validator(schema).validate({"code": example, **choice})


@pytest.mark.parametrize("tool", IMAGES)
def test_examples_run(start_python, images, tool):
    if tool != "run_python_code" and IMAGES[tool] not in images:
        pytest.skip(f"no image for it: code-sandbox-mcp fetch {IMAGES[tool]}")
    server = start_python()
    listed = {tool["name"]: tool for tool in server.result("tools/list")["tools"]}
    result = server.call(tool, listed[tool]["inputSchema"]["properties"]["code"]["examples"][0])
    assert server.text_of(result) in ("5050", "[ 1, 4, 9 ]", "45")


@pytest.mark.parametrize("version", mcp_schema.HANDSHAKES)
def test_each_version_gets_the_members_that_it_knows(start, version):
    server = start("--result-format", "structured")
    information = server.initialize(version)["serverInfo"]
    tool = server.result("tools/list")["tools"][0]
    for member, since in (("annotations", "2025-03-26"), ("title", "2025-06-18"),
                          ("outputSchema", "2025-06-18"), ("icons", "2025-11-25")):
        assert (member in tool) == (version >= since), member
    assert ("title" in information) == (version >= "2025-06-18")
    assert ("icons" in information) == (version >= "2025-11-25")


def test_icons_are_small_pictures(stateless_server):
    for described in (stateless_server.result("server/discover")["_meta"][
            "io.modelcontextprotocol/serverInfo"],
                      *stateless_server.result("tools/list")["tools"]):
        icon, = described["icons"]
        picture = base64.b64decode(icon["src"].removeprefix("data:image/png;base64,"), validate=True)
        assert picture.startswith(b"\x89PNG\r\n") and len(picture) < 1000
        assert struct.unpack(">II", picture[16:24]) == (48, 48) and icon["sizes"] == ["48x48"]


def make_image(tmp_path, name, summary):
    image = tmp_path / "code-sandbox-mcp" / "images" / name
    (image / "rootfs").mkdir(parents=True)
    (image / "image.json").write_text(json.dumps({
        "name": name, "source": "", "created": "2026-01-01T00:00:00Z", "summary": summary,
        "size_bytes": 0, "file_count": 0, "home": {}, "environment": {}}))
    return mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path))


@pytest.mark.parametrize(("summary", "told"), [
    ("Python 3.13.5; numpy 2.2.4, six 1.2", "Installed: Python 3.13.5; numpy 2.2.4, six 1.2. Each"),
    ("; ".join(["Python 3"] + [", ".join(f"library{n} 1.{n}" for n in range(100))]), " and more. Each"),
    ("", "environments lists"), ("x" * 5000, " and more. Each"),
], ids=["few", "many", "unknown", "one long word"])
def test_the_description_names_what_the_image_really_has(start, tmp_path, summary, told):
    server = start(environment=make_image(tmp_path, "python", summary))
    server.initialize()
    description = server.result("tools/list")["tools"][0]["description"]
    assert told in description
    assert "library99" not in description


@pytest.mark.parametrize("options", [
    [], ["--timeout", "1234.567", "--timeout-max", "86399.999", "--result-format", "structured", "--preload", "json",
         "--env", "A=1", "--pass-through-env", "HOME", "--no-cgroup", "--warm", "0"]])
def test_a_description_is_short_with_everything_on_and_never_changes(start, tmp_path, options):
    """Clients compare the list of tools, and models read all of it with each request."""
    summary = "Python 3; " + ", ".join(f"library{n} 1.{n}" for n in range(100))
    for image in IMAGES.values():
        environment = make_image(tmp_path, image, summary)
    server = start(*options, environment=environment)
    server.initialize()
    tools = server.request("tools/list", request_id="same")["result"]["tools"]
    for tool in tools:
        assert len(tool["description"]) <= 1000, tool["description"]
        server.call(tool["name"], "1")
    server.request("tools/list", request_id="same")
    lines = [line for line in server.lines if b'"same"' in line]
    assert len(lines) == 2 and lines[0] == lines[1] and len(tools) == len(IMAGES)


def test_a_missing_image_is_described_by_what_it_will_have(start, tmp_path):
    server = start(environment=mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path)))
    server.initialize()
    assert "numpy" in server.result("tools/list")["tools"][0]["description"]


def test_the_description_tells_the_time_limit(start):
    server = start("--timeout", "2.5")
    server.initialize()
    assert "2.5 seconds" in server.result("tools/list")["tools"][0]["description"]


@pytest.mark.parametrize(("options", "default", "most"), [
    ([], 30, 30), (["--timeout", "2.5"], 2.5, 2.5), (["--timeout-max", "300"], 30, 300),
    (["--timeout", "0.5", "--timeout-max=86400"], 0.5, 86400),
])
def test_the_schema_tells_what_time_can_be_asked_for(start, options, default, most):
    server = start(*options)
    server.initialize()
    for tool in server.result("tools/list")["tools"]:
        schema = tool["inputSchema"]["properties"]["timeout_seconds"]
        assert schema["type"] == "number"
        assert (schema["minimum"], schema["maximum"]) == (0.001, most)
        assert f"{default:g} if left out, at most {most:g}." in schema["description"]
        told = f"stopped after {default:g} seconds"
        told += f"; timeout_seconds can allow up to {most:g}." if default != most else "."
        assert told in tool["description"]


@pytest.mark.parametrize("timeout", [
    "0", "-1", "-0", "0.0001", "120.001", "1e308", "1e-400", "1e5", "1" * 100_000, '"5 s"', '""',
    "true", "[5]", "{}",
], ids=lambda text: text[:20])
def test_a_wrong_timeout_is_told_with_its_range(start, timeout):
    server = start("--timeout-max", "120")
    server.initialize()
    server.send_bytes(b'{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":'
                      b'"run_python_code","arguments":{"code":"1","timeout_seconds":%s}}}\n'
                      % timeout.encode())
    result = server.answer(900)["result"]
    assert result["isError"] is True
    assert '"timeout_seconds" must be' in server.text_of(result) and "120" in server.text_of(result)


@pytest.mark.parametrize("timeout", ["nan", "NaN", "Infinity", "5s", "0x5", ".5", "+5"])
def test_a_timeout_that_is_no_json_is_a_parse_error(server, timeout):
    server.send_bytes(b'{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":'
                      b'"run_python_code","arguments":{"code":"1","timeout_seconds":%s}}}\n'
                      % timeout.encode())
    assert server.next_message()["error"]["code"] == -32700


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list"])
def test_a_cursor_that_was_never_given_is_refused(server, method):
    assert server.request(method, {"cursor": "x"})["error"]["code"] == -32602


@pytest.mark.parametrize("params", [
    None, {}, {"name": None}, {"name": 1}, {"name": "no_such_tool"}, {"name": ""},
    {"name": "run_python_code\0"}, {"name": "x" * 1_000_000},
    {"name": "run_python_code", "arguments": []}, {"name": "run_python_code", "arguments": "x"},
    {"name": "run_python_code", "arguments": None},
], ids=lambda params: repr(params)[:40])
def test_malformed_calls_are_invalid_params(server, params):
    assert server.request("tools/call", params)["error"]["code"] == -32602


@pytest.mark.parametrize(("arguments", "named"), [
    ({}, "code"), ({"code": 1}, "string"), ({"code": None}, "string"), ({"code": ["x"]}, "string"),
    ({"code": "x", "timeout": 5}, '"timeout_seconds"'), ({"code": "x", "code\0": "y"}, "argument"),
    ({"Code": "x"}, "Code"), ({"code": "x" * (12 * 1024 * 1024 + 1)}, "12 MiB"),
], ids=lambda value: repr(value)[:40])
def test_wrong_arguments_are_told_to_the_model(server, arguments, named):
    result = call_with(server, arguments)
    assert result["isError"] is True
    assert len(result["content"]) == 1 and named in server.text_of(result)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_missing_image_is_told_with_the_command_that_fetches_it(start, tmp_path, tool):
    server = start(environment=mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path)))
    server.initialize()
    result = server.call(tool, "1")
    assert result["isError"] is True
    assert "code-sandbox-mcp fetch agent" in server.text_of(result)
    assert not list(tmp_path.iterdir())


def test_bash_is_there_only_with_an_image(start, tmp_path):
    environment = mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path))
    server = start(environment=environment)
    server.initialize()
    assert [tool["name"] for tool in server.result("tools/list")["tools"]] == TOOLS
    assert "bash" not in read_environments(server)
    assert server.request("tools/call", {"name": "run_bash_code", "arguments": {"code": "true"}})[
        "error"]["code"] == -32602
    named = start("--bash-image", "mine", environment=environment)
    named.initialize()
    assert [tool["name"] for tool in named.result("tools/list")["tools"]] == [*IMAGES]
    assert read_environments(named)["bash"]["image"] == "mine"


@pytest.mark.parametrize(("options", "variables"), [
    (["--javascript-image", "mine"], {}), ([], {"SANDBOX_JAVASCRIPT_IMAGE": "mine"})])
def test_a_language_has_an_image_of_its_own(start, tmp_path, options, variables):
    server = start(*options, environment=mcp_client.environment_of(
        XDG_DATA_HOME=str(tmp_path), **variables))
    server.initialize()
    environments = read_environments(server)
    assert environments["javascript"]["image"] == "mine"
    assert environments["python"]["image"] == "agent"
    assert "mine" in server.text_of(server.call("run_javascript_code", "1"))


def test_an_image_reference_is_told_how_to_get_it(start):
    reference = "docker.io/library/python:3.13"
    server = start(environment=mcp_client.environment_of(
        CONTAINER_IMAGE=reference, CONTAINER_LANGUAGE="python"))
    server.initialize()
    result = server.call("run_python_code", "1")
    text = server.text_of(result)
    assert result["isError"] is True
    assert reference in text and "fetch --from" in text
    assert reference in server.stderr()


def test_a_bound_image_is_bound_to_its_language_only(start, tmp_path):
    server = start(environment=mcp_client.environment_of(
        CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="javascript", XDG_DATA_HOME=str(tmp_path)))
    server.initialize()
    environments = read_environments(server)
    assert environments["javascript"]["image"] == "mine"
    assert environments["python"]["image"] == "agent"


@pytest.mark.parametrize(("variables", "noted"), [
    ({"BACKEND": "podman"}, "BACKEND"),
    ({"CONTAINER_IMAGE": "mine"}, "python"),
    ({"CONTAINER_LANGUAGE": "python"}, "CONTAINER_IMAGE"),
    ({"CONTAINER_IMAGE": "mine", "CONTAINER_LANGUAGE": "pyton"}, "did you mean python"),
    ({"PASSTHROUGH_ENV": "A,B=C"}, "names only"),
])
def test_variables_that_do_not_do_what_they_did_are_noted(start, variables, noted):
    server = start(environment=mcp_client.environment_of(**variables))
    server.initialize()
    assert noted in server.stderr()


def read_environments(server):
    contents = server.result("resources/read", {"uri": "sandbox://environments"})["contents"]
    assert len(contents) == 1 and contents[0]["uri"] == "sandbox://environments"
    assert contents[0]["mimeType"] == "application/json"
    return json.loads(contents[0]["text"])


def test_the_resource_is_listed_and_read(server, images):
    listed = server.result("resources/list")["resources"]
    assert [resource["uri"] for resource in listed] == \
        ["sandbox://environments", "sandbox://sessions"]
    assert listed[0]["name"] and listed[0]["mimeType"] == "application/json"
    templates = server.result("resources/templates/list")["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == [
        "sandbox://output/{number}/{stream}", "sandbox://files/{call}/{+path}"]
    environments = read_environments(server)
    own = ["python", "javascript", *(["bash"] if "bash" in images else [])]
    assert list(environments)[:len(own)] == own
    for environment in environments.values():
        assert {"image", "installed_libraries", "available"} <= set(environment)


def test_the_resource_tells_how_to_fetch_what_is_missing(start, tmp_path):
    server = start(environment=mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path)))
    server.initialize()
    environments = read_environments(server)
    assert environments["python"]["available"] is False
    assert environments["python"]["fetch"] == "code-sandbox-mcp fetch agent"
    assert "libraries of python" in environments["python"]["installed_libraries"]


@pytest.mark.parametrize(("params", "code"), [
    (None, -32602), ({}, -32602), ({"uri": 1}, -32602), ({"uri": "sandbox://nothing"}, -32002),
    ({"uri": "sandbox://environments\0"}, -32002), ({"uri": "file:///etc/passwd"}, -32002),
    ({"uri": "x" * 10_000_000}, -32002),
], ids=lambda value: repr(value)[:40])
def test_other_resources_are_not_there(server, params, code):
    assert server.request("resources/read", params)["error"]["code"] == code


def test_structured_format_publishes_its_schema(start):
    server = start("--result-format", "structured")
    server.initialize()
    for tool in server.result("tools/list")["tools"]:
        assert tool["outputSchema"]["type"] == "object"
        assert set(tool["outputSchema"]["required"]) == set(tool["outputSchema"]["properties"])


def test_documented_members_are_those_of_the_record(start):
    server = start("--result-format", "structured")
    server.initialize()
    schema = server.result("tools/list")["tools"][0]["outputSchema"]["properties"]
    rows = [f"| `{name}` | {row['type'] if isinstance(row['type'], str) else ' or '.join(row['type'])} | {row['description']} |"
            for name, row in schema.items()]
    assert "\n".join(["| --- | --- | --- |", *rows]) + "\n\n" in (mcp_client.ROOT / "docs/clients.md").read_text(encoding="utf-8")
