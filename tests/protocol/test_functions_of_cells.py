"""Functions that a cell has in place of those of its session."""

import json

import pytest

from support import mcp_client
from support.calling import ADD, Caller, add, value_of
from support.extension import HttpProgram, Refused, StdioProgram
from support.http_server import HttpServer

DOUBLE = {"name": "double", "description": "Doubles a number.", "inputSchema": {"properties": {"n": {}}}}
double = value_of(lambda n: 2 * n)
TRY = {"python": "import tools\ntry: tools.call({name!r})\nexcept tools.ToolRefused as error: print(error.text)",
       "javascript": "import {{ call }} from 'tools'\ntry {{ await call({name!r}) }} catch (error) {{ console.log(error.text) }}"}


class Snippets(Caller):
    """Of any language."""

    def start(self, code, language="python", **params):
        return self.session.start("cell", language=language, code=code, **params)


@pytest.fixture(scope="module", params=["stdio", "http", "checked"])
def program(request, tmp_path_factory):
    if request.param == "http":
        server = HttpServer("--sessions", "64", env=mcp_client.environment_of())
        yield HttpProgram(server)
        server.stop()
        return
    rules = tmp_path_factory.mktemp("policy") / "rules.json"
    rules.write_text(json.dumps({"rules": [{"id": "no-ctypes", "match": {"import": ["ctypes"]}, "severity": "refuse", "message": "No ctypes."}]}), encoding="utf-8")
    policy = ["--policy", str(rules)] if request.param == "checked" else []
    server = mcp_client.Server("--sessions", "64", *policy, environment=mcp_client.environment_of())
    server.initialize()
    yield StdioProgram(server)
    server.stop()
    assert not server.complaints


@pytest.fixture
def caller(program):
    made = Snippets(program, functions=[ADD], image="agent")
    yield made
    made.session.close()


def refusal(caller, language, name, **params):
    return caller.run(TRY[language].format(name=name), language=language, **params)["stdout"]


def test_a_cell_has_functions_of_its_own(caller):
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"
    record = caller.run("from tools import double\ndouble(21), double.__doc__", double, functions=[DOUBLE])
    assert record["stdout"] == "(42, 'Doubles a number.')" and [one["name"] for one in record["calls"]] == ["double"]
    record = caller.run("import tools\n[it['name'] for it in tools.search('')], tools.add(4)", add)
    assert record["stdout"] == "(['add'], 5)"


@pytest.mark.parametrize("language,own,module", [
    ("python", "import tools\nprint(hasattr(tools, 'add'), hasattr(tools, 'double'), hasattr(tools.aio, 'double'), tools.double(4))", "hasattr(tools, 'add'), hasattr(tools, 'double')"),
    ("javascript", "import * as tools from 'tools'\nconsole.log('add' in tools, 'double' in tools, 'double' in require('tools'), await tools.double(4))",
     "console.log('add' in tools, 'double' in tools)")])
def test_a_module_that_a_cell_has_follows(caller, language, own, module):
    if language == "python":
        module = f"print({module})"
    assert caller.run(own, double, language=language, functions=[DOUBLE])["stdout"].lower() == "false true true 8"
    assert caller.run(module, language=language)["stdout"].lower() == "true false"
    assert caller.run(module, language=language, functions=[])["stdout"].lower() == "false false"


@pytest.mark.parametrize("language,taken,called", [
    ("python", "from tools import add as kept", "import tools\ntry: kept(1)\nexcept tools.ToolRefused as error: print(error)"),
    ("javascript", "import { add as kept } from 'tools'\n0", "try { await kept(1) } catch (error) { console.log(`${error.name}: ${error.text}`) }")])
def test_names_of_others_are_refused_when_they_are_called(caller, language, taken, called):
    caller.run(taken, language=language)
    told = caller.run(called, language=language, functions=[DOUBLE])["stdout"]
    assert told == "add: there is no function add; there are: double"
    assert caller.run(called, language=language, functions=[])["stdout"] == "add: there is no function add; there are none"
    assert refusal(caller, language, "double") == "there is no function double; there are: add"
    assert not caller.requests()


@pytest.mark.parametrize("language,code", [("python", "from tools import add\nadd(a=[1])"), ("javascript", "import { add } from 'tools'\nawait add({ a: [1] })")])
def test_a_function_of_the_same_name_is_another(caller, language, code):
    other = {"name": "add", "inputSchema": {"properties": {"x": {}}}}
    answer = value_of(lambda a: a[0])
    assert caller.run(code, answer, language=language)["stdout"] == "1"
    named = caller.run(code.replace("a=[1]", "7").replace("{ a: [1] }", "7"), value_of(lambda x: x), language=language, functions=[other])
    assert named["stdout"] == "7"


def test_each_of_cells_that_wait_has_its_own(caller):
    functions = [{"name": f"f{n}"} for n in range(6)]
    cells = [caller.start(f"import tools\ntools.{one['name']}()", functions=[one]) for one in functions]
    names = {cell.id: one["name"] for cell, one in zip(cells, functions)}
    for _ in cells:
        request = caller.next()
        assert request["params"]["name"] == names[request["params"]["cell"]]
        caller.answer(request, request["params"]["name"])
    for cell in cells:
        assert cell.result()["structuredContent"]["stdout"] == repr(names[cell.id])


def test_an_interpreter_that_is_restored_knows_them(caller):
    caller.run("x = 1", functions=[DOUBLE])
    record = caller.run("import os\nos._exit(1)", functions=[{"name": "third"}])
    assert record["session"]["restored_to"] == 1
    assert caller.run("import tools\nx, tools.add(1), hasattr(tools, 'third')", add)["stdout"] == "(1, 2, False)"
    assert caller.run("tools.double(2)", double, functions=[DOUBLE])["stdout"] == "4"
    pending = caller.program.start("cell", session=f"{caller.session.id}@1", language="python", code="import tools\nx, tools.third()", functions=[{"name": "third"}])
    caller.answer(caller.next(), 3)
    assert pending.result()["structuredContent"]["stdout"] == "(1, 3)"


def test_as_many_as_there_may_be(caller):
    many = [{"name": f"f{n}", "description": "x" * 900} for n in range(256)]
    assert caller.run("import tools\nlen(tools.search('x')), tools.f255()", value_of(lambda: 1), functions=many)["stdout"] == "(256, 1)"
    assert caller.run("len(tools.search('x'))")["stdout"] == "0"


@pytest.mark.parametrize("functions,said", [
    ({}, "an array of at most 256"), ([{"name": "a b"}], '"name" must be'), ([DOUBLE, DOUBLE], "the same"), ([{"name": f"f{n}"} for n in range(257)], "at most 256"),
    ([{"name": "a", "description": "x" * (1 << 18)}], "256 KiB"), ([{"name": "a", "other": 1}], "only")])
def test_what_is_wrong_is_refused_by_name(caller, functions, said):
    with pytest.raises(Refused) as caught:
        caller.session.call("cell", language="python", code="1", functions=functions)
    assert caught.value.id == "invalid_parameter" and '"functions"' in caught.value.message and said in caught.value.message
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"


def test_a_session_without_any_has_none_in_cells(program):
    opened = program.open()
    with pytest.raises(Refused) as caught:
        opened.call("cell", language="python", code="1", functions=[ADD])
    assert caught.value.id == "invalid_parameter" and json.dumps("functions") in caught.value.message and "[]" in caught.value.message
    opened.close()


def test_a_session_may_begin_with_none(program):
    caller = Snippets(program, functions=[], image="python-slim")
    assert refusal(caller, "python", "add") == "there is no function add; there are none"
    assert caller.run("import tools\ntools.double(4)", double, functions=[DOUBLE])["stdout"] == "8"
    caller.session.close()


def test_a_cell_that_never_begins_changes_nothing(caller):
    with pytest.raises(Refused):
        caller.program.call("cell", session=f"{caller.session.id}@77", language="python", code="1", functions=[DOUBLE])
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"
