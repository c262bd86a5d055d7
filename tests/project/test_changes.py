"""Where a change goes: what CONTRIBUTING.md promises is done in a copy of the source and seen to work.

Files changed, beside new ones: one, with a list of names, for a language, a tool that runs no snippet and an
image source; one for a setting, two for a step of the jail, four for a kind of limit.
"""

import datetime
import http.client
import json
import os
import re
import shutil
import subprocess

import pytest

from support import images
from support.altered import ROOT
from support.layered import put

pytestmark = pytest.mark.thorough

# A word in a list, and a file.
LANGUAGE = {"interpreter/languages/meson.build": ("'javascript', 'bash']", "'javascript', 'bash', 'awk']")}
LANGUAGE_FILE = r"""#include "interpreter/languages/language.h"

const struct language language_awk = {
    .name = "awk",
    .title = "AWK",
    .image = "bash",
    .extensions = WORDS(".awk"),
    .other_names = WORDS("gawk"),
    .http_names = WORDS("awk", "posix_awk"),
    .code_name = "main.awk",
    .argv = WORDS("gawk", "-f", "main.awk"),
    .probe = "BEGIN { print \"ok\" }",
    .probe_prints = "ok\n",
    .session =
        &(const struct session_runner){
            .kept = "files",
            .kind = SESSION_FRESH,
            .program = "",
        },
    .description = "Runs an AWK program.",
    .libraries = "Installed: gawk.",
    .code = "The program.",
    .example = "BEGIN { print 1 }",
    .silent_hint = "To see a value, print it: print value",
};
"""
TOOL = {"mcp/tools/meson.build": ("tool_names = ['code']", "tool_names = ['code', 'date']")}
# A tool that runs no snippet.
TOOL_FILE = """#include "mcp/tools/tool.h"

#include <time.h>

static void date_describe(const struct tool *tool, const struct settings *settings,
                          struct buffer *text)
{
    (void)tool;
    (void)settings;
    buffer_append_text(text, "Tells the year.");
}

static void date_write_schema(const struct tool *tool, const struct settings *settings,
                              struct json_writer *writer)
{
    (void)tool;
    (void)settings;
    json_begin_object(writer);
    json_text_member(writer, "type", "object");
    json_end_object(writer);
}

static void date_write(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    json_key(writer, "content");
    json_begin_array(writer);
    json_begin_object(writer);
    json_text_member(writer, "type", "text");
    json_text_member(writer, "text", data);
    json_end_object(writer);
    json_end_array(writer);
}

static void date_call(struct context *context, const struct tool_request *request)
{
    (void)context;
    char year[8];
    time_t now = time(NULL);
    strftime(year, sizeof(year), "%Y", localtime(&now));
    reply_result(request->reply, &(struct result_body){.write = date_write, .data = year});
}

const struct tool tool_date = {
    .name = "tell_date",
    .title = "Tell the year",
    .is_read_only = true,
    .describe = date_describe,
    .write_schema = date_write_schema,
    .call = date_call,
};
"""
SETTING = {"interpreter/settings/setting_table.c": ('    {"--disk", "SIZE",', """    {"--descriptors", "N", "its open files", settings_remember,
     SETTING(SETTING_COUNT, "SANDBOX_DESCRIPTORS", "descriptors", AT(limits.descriptors), .low = 16,
             .high = 4096)},
    {"--disk", "SIZE",""")}
STEP = {
    "sandbox/jail/child/steps.def": (
        "STEP(HOSTNAME,", 'STEP(POLITENESS, be_polite, ANY, EVERY, "be polite")\nSTEP(HOSTNAME,'),
    "sandbox/jail/child/process.c": (
        "int step_name_host(", """int step_be_polite(struct jail *jail)
{
    (void)jail;
    return syscall(SYS_setpriority, PRIO_PROCESS, 0, 7) < 0 ? -errno : 0;
}

int step_name_host("""),
}
# Where no cgroup holds the limits: more than ten sockets.
LIMIT = {
    "sandbox/limits/limits.def": ('LIMIT(OUTPUT, "output",', 'LIMIT(SOCKETS, "sockets", SOCKET_LIMIT)\nLIMIT(OUTPUT, "output",'),
    "sandbox/limits/outcomes.def": ("OUTCOME(CANCELLED,", 'OUTCOME(SOCKET_LIMIT, "socket_limit", 137, "too many sockets")\nOUTCOME(CANCELLED,'),
    "sandbox/limits/polling_rules.c": ("    history->sampled_at = sample->now;\n    return decision;",
                                       "    if (sample->usage.sockets.used > 10)\n        decision.exceeded = LIMIT_SOCKETS;\n"
                                       "    history->sampled_at = sample->now;\n    return decision;"),
}
RESULT = {
    "interpreter/base/result.def": ('OTHER(image, SET,', """OTHER(letters, OR_NULL, "integer", NULL, "Letters of the image's name")
OTHER(image, SET,"""),
    "interpreter/result/result_json.c": ("static void write_image(", """static void write_letters(struct json_writer *writer, const struct record *record)
{
    json_number(writer, (int64_t)__builtin_strlen(record->image));
}

static void write_image("""),
}
COMMAND = {"cli/meson.build": ("'settings', 'check'", "'settings', 'hello', 'check'")}
COMMAND_FILE = """#include "cli/command.h"

#include <stdio.h>

static int hello(const struct command *command, int argc, char **argv)
{
    (void)command;
    (void)argc;
    (void)argv;
    return puts("hello") < 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command command_hello = {.name = "hello", .summary = "say hello", .run = hello};
"""
SOURCE = {"images/registry/meson.build": ("'directory', 'archive'", "'lxc', 'directory', 'archive'")}
SOURCE_FILE = """/* An image of LXC: metadata.yaml beside rootfs/. */
#include "images/registry/source.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>

static bool lxc_matches(const struct source_input *input)
{
    return input->is_directory && faccessat(input->fd, "metadata.yaml", F_OK, 0) == 0;
}

static int lxc_make(const struct source_input *input, const struct source_site *site,
                    struct provenance *provenance, struct fault *fault)
{
    (void)provenance;
    OWNED_FD int fd = openat(input->fd, "rootfs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot open rootfs: %m");
    return unpack_directory(site->rootfs, fd, fault);
}

const struct image_source source_lxc = {
    .help = "an image of LXC",
    .matches = lxc_matches,
    .make = lxc_make,
};
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The programs of a tree with all changes."""
    place = tmp_path_factory.mktemp("changed")
    source, build = place / "source", place / "build"
    shutil.copytree(ROOT, source, ignore=lambda folder, names: [
        name for name in names if folder == str(ROOT) and (name == ".git" or name.startswith("build"))])
    for name, (there, instead) in {**LANGUAGE, **TOOL, **SOURCE, **SETTING, **STEP, **LIMIT, **RESULT, **COMMAND}.items():
        text = (source / name).read_text()
        assert text.count(there) == 1, f"{name} does not have exactly one {there!r}"
        (source / name).write_text(text.replace(there, instead))
    put(source, "images/registry/source_lxc.c", SOURCE_FILE)
    put(source, "interpreter/languages/awk.c", LANGUAGE_FILE)
    put(source, "mcp/tools/tool_date.c", TOOL_FILE)
    put(source, "cli/command_hello.c", COMMAND_FILE)
    for command in (["meson", "setup", "--optimization=0", build, source], ["ninja", "-C", build, "programs"]):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
    return build


AWK_NEEDED = pytest.mark.skipif(not images.user_images().joinpath("bash").exists(), reason="there is no image bash")


def answers_of(server, *requests, options=()):
    """The results of these requests to a server, in their order; its notifications are left out."""
    start = {"method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    results = []
    with subprocess.Popen([server, *options], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for number, request in enumerate((start, *requests)):
            begun = [{"method": "notifications/initialized"}] if number == 1 else []
            for message in (*begun, {"id": number, **request}):
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            results.append(next(answer["result"] for answer in map(json.loads, process.stdout) if "id" in answer))
        process.stdin.close()
    return results[1:]


def answer_of(server, tool, arguments):
    """The first text of a call's answer."""
    result, = answers_of(server, {"method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    return result["content"][0]["text"]


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@AWK_NEEDED
def test_a_language_is_its_file_and_a_word(changed, tmp_path):
    server = changed / "cli" / "code-sandbox-mcp"
    put(tmp_path, "hello.awk", 'BEGIN { print "hello", 6 * 7 }')
    put(tmp_path, "script", '#!/usr/bin/gawk -f\nBEGIN { print ENVIRON["A"] }')
    assert output_of(server, "run", tmp_path / "hello.awk").splitlines()[0] == "hello 42"
    assert output_of(server, "run", "--env", "awk:A=of awk", tmp_path / "script").splitlines()[0] == "of awk"
    assert answer_of(server, "run_awk_code", {"code": "BEGIN { print 3 }"}) == "3"
    line = json.dumps({"language": "awk", "code": "BEGIN { getline; print $2 }", "stdin": "1 2"})
    assert json.loads(output_of(server, "batch", input=line + "\n"))["stdout"] == "2\n"


@AWK_NEEDED
def test_all_that_lists_languages_has_that_one(changed):
    server = changed / "cli" / "code-sandbox-mcp"
    help_text = output_of(server, "run", "--help")
    assert "--awk-image NAME" in help_text and "image for AWK (bash, else agent)" in help_text
    assert "awk" in help_text.split("--language")[1].split("--json")[0]
    listed, = answers_of(server, {"method": "tools/list"})
    tool, = [tool for tool in listed["tools"] if tool["name"] == "run_awk_code"]
    assert tool["title"] == "Run AWK code"
    assert tool["description"].startswith("Runs an AWK program. Installed: ")
    assert "which keeps files between calls" in tool["description"]
    assert tool["inputSchema"]["properties"]["code"]["examples"] == ["BEGIN { print 1 }"]
    languages = {finding["name"]: finding for finding in json.loads(output_of(server, "doctor", "--json"))["languages"]}
    assert languages["awk"]["image"] == "bash"
    assert " awk" in (changed / "packaging" / "code-sandbox-mcp").read_text().split("--language)")[1].split(";;")[0]


@AWK_NEEDED
def test_a_language_has_sessions(changed):
    server = changed / "cli" / "code-sandbox-mcp"
    arguments = {"session": "new", "code": 'BEGIN { print 5 > "kept"; print 4 }'}
    result, = answers_of(server, {"method": "tools/call", "params": {"name": "run_awk_code", "arguments": arguments}})
    assert result["content"][0]["text"] == "4" and re.search(r"\bs-\w+", json.dumps(result["content"]))


@AWK_NEEDED
def test_a_language_has_its_names_over_http(changed):
    server = changed / "cli" / "code-sandbox-mcp"
    with subprocess.Popen([server, "--http", "127.0.0.1:0"], text=True, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        address = re.search(r"http://([\d.:]+)", process.stderr.readline())[1]
        answers = [post(address, {"language": name, "code": "BEGIN { print 6 }"}) for name in ("awk", "posix_awk", "gawk")]
        process.terminate()
    assert [answer["run_result"]["stdout"] for answer in answers[:2]] == ["6\n", "6\n"]
    assert '"bash", "awk" (or "posix_awk")' in json.dumps(answers[2]).replace('\\"', '"')


def post(address, body):
    """The answer of /run_code, whatever its status."""
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("POST", "/run_code", json.dumps(body), {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())


def test_a_tool_without_a_snippet_is_its_file_and_a_word(changed):
    server = changed / "cli" / "code-sandbox-mcp"
    assert answer_of(server, "tell_date", {}) == str(datetime.date.today().year)


def run_python(changed, code, *options, **variables):
    done = subprocess.run([changed / "cli" / "code-sandbox-mcp", "run", "--json", "--language", "python",
                           *options, "-"], input=code, text=True, capture_output=True, check=False,
                          env={**os.environ, **variables})
    return json.loads(done.stdout)


def test_a_setting_of_a_run_is_one_row(changed):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[1])"
    assert run_python(changed, code, "--descriptors", "77")["stdout"] == "77\n"
    assert run_python(changed, code, SANDBOX_DESCRIPTORS="78")["stdout"] == "78\n"


def test_a_step_of_the_jail_is_a_row_and_its_function(changed):
    assert run_python(changed, "import os; print(os.nice(0))")["stdout"] == "7\n"


def test_a_member_of_the_result_is_a_row_and_its_writer(changed):
    assert run_python(changed, "")["letters"] == len("python")
    schema = answers_of(changed / "cli" / "code-sandbox-mcp", {"method": "tools/list"}, options=["--result-format", "structured"])[0]
    letters = schema["tools"][0]["outputSchema"]["properties"]["letters"]
    assert letters == {"type": ["integer", "null"], "description": "Letters of the image's name"}


def test_a_command_is_its_file_and_a_word(changed):
    server = changed / "cli" / "code-sandbox-mcp"
    assert output_of(server, "hello") == "hello\n"
    assert re.search(r"^  hello +say hello$", output_of(server, "--help"), re.M)


def test_a_kind_of_limit_is_two_rows_and_what_finds_it(changed):
    code = "import socket, time; kept = [socket.socket() for _ in range(20)]; time.sleep(20)"
    record = run_python(changed, code, "--no-cgroup")
    assert (record["outcome"], record["limits_reached"]) == ("socket_limit", ["sockets"])


@pytest.mark.parametrize("packed", [False, True])
def test_an_image_source_is_its_file_and_a_word(changed, tmp_path, packed):
    tree = tmp_path / "tree"
    put(tree, "metadata.yaml", "architecture: any\n")
    put(tree, "rootfs/usr/lib/os-release", "ID=none\n")
    origin = tree
    if packed:
        origin = tmp_path / "image.tar"
        subprocess.run(["tar", "-C", tree, "-cf", origin, "metadata.yaml", "rootfs"], check=True)
    done = subprocess.run([changed / "images" / "code-sandbox-mcp-image", "other", "--from", origin],
                          text=True, capture_output=True, check=False,
                          env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")})
    assert done.returncode == 0, done.stderr
    layer, = images.layers_of(tmp_path / "data" / "code-sandbox-mcp" / "images" / "other")
    assert [path.name for path in (layer / "tree" / "usr" / "lib").iterdir()] == ["os-release"]
    assert not (layer / "tree" / "metadata.yaml").exists()
