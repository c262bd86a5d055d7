"""The checks of lint.py find what they are for."""

import json
import subprocess

import pytest

import lint


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """An empty source tree under test; write(NAME, TEXT) puts a file there."""
    monkeypatch.setattr(lint, "ROOT", tmp_path)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
    write("README.md", "All is well.\n")
    return write


def test_units_without_a_cycle_pass(tree):
    tree("mcp/a.c", '#include "mcp/a.h"\n#include "mcp/b.h"\n')
    tree("mcp/a.h", "")
    tree("mcp/b.h", '#include "mcp/c.h"\n')
    tree("mcp/c.h", "")
    assert not list(lint.check_include_cycles(None))


def test_a_cycle_by_way_of_three_units_is_found(tree):
    tree("mcp/a.c", '#include "mcp/b.h"\n')
    tree("mcp/b.h", '#include "sandbox/c.h"\n')
    tree("sandbox/c.c", '#include "mcp/a.h"\n')
    tree("sandbox/d.c", '#include "mcp/a.h"\n')
    assert list(lint.check_include_cycles(None)) == ["a cycle of 3 units: mcp/a, mcp/b, sandbox/c"]


def libraries(tree, **uses):
    for folder, dependencies in uses.items():
        tree(f"{folder}/meson.build", f"{folder} = declare_dependency(dependencies: [\n{','.join(dependencies)}\n])\n")


def test_a_library_may_use_those_of_its_libraries(tree):
    libraries(tree, sandbox=[], interpreter=["sandbox"], mcp=["interpreter"])
    tree("mcp/a.c", '#include "sandbox/c.h"\n#include "interpreter/files/b.h"\n')
    tree("sandbox/c.h", "")
    tree("interpreter/files/b.h", "")  # of the library above it
    assert not list(lint.check_layers(None))


def test_an_include_of_a_library_that_is_not_used_is_found(tree):
    libraries(tree, sandbox=[], interpreter=["sandbox", "'mcp'  # no mcp"], mcp=["interpreter"])
    tree("mcp/a.h", "")
    tree("interpreter/b.c", '\n#include "mcp/a.h"\n')
    assert list(lint.check_layers(None)) == ["interpreter/b.c:2: the library of interpreter does not use that of mcp"]


def test_folders_in_a_circle_are_found(tree):
    libraries(tree, sandbox=[])
    tree("sandbox/jail/a.h", "")
    tree("sandbox/jail/b.c", '#include "sandbox/c.h"\n')
    tree("sandbox/c.h", "")
    tree("sandbox/d.c", '#include "sandbox/jail/a.h"\n')
    assert list(lint.check_layers(None)) == ["a circle of folders: sandbox, sandbox/jail"]


def external_names(tree, tmp_path, *texts):
    entries = []
    for number, text in enumerate(texts):
        file, output = tree(f"mcp/unit{number}.c", text), f"mcp/unit{number}.o"
        (tmp_path / "build" / "mcp").mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-c", file, "-o", tmp_path / "build" / output], check=True)
        entries.append({"file": f"../{lint.name_of(file)}", "output": output})
    (tmp_path / "build" / "compile_commands.json").write_text(json.dumps(entries))
    return list(lint.check_external_names(tmp_path / "build"))


def test_an_external_name_in_two_units_is_found(tree, tmp_path):
    assert external_names(tree, tmp_path, "int twice;\n", "int twice(void) { return 0; }\n") == [
        "twice is defined in mcp/unit0.c, mcp/unit1.c"]


def test_static_names_may_repeat(tree, tmp_path):
    private = "static int twice(void) { return 0; }\nint NAME(void) { return twice(); }\n"
    assert not external_names(tree, tmp_path, private.replace("NAME", "first"),
                              private.replace("NAME", "second"))


def test_relative_clauses_are_counted_in_every_document(tree):
    tree("docs/page.md", "Whatever is, is that which is.\n" * 10)
    assert [complaint.split(":")[0] for complaint in lint.check_prose(None)] == ["docs/page.md"]


def test_code_is_no_prose():
    assert lint.running_words("One\n\n    that which\n\n```\nwho what\n```\ntwo\n") == ["One", "two"]


def test_a_front_page_of_many_words_is_found(tree):
    tree("README.md", "word " * 1301)
    assert len(list(lint.check_front_page(None))) == 1


@pytest.mark.parametrize(("name", "lines"), [("README.md", 131), ("SECURITY.md", 221), ("docs/page.md", 301)])
def test_a_long_page_is_found(tree, name, lines):
    tree(name, "line\n" * (lines - 1))
    assert not list(lint.check_sizes(None))
    tree(name, "line\n" * lines)
    assert len(list(lint.check_sizes(None))) == 1


@pytest.mark.parametrize("text", ["[a page](docs/gone.md)", "`mcp/gone.c`", "gone_away()", "[a part](#gone)", "[its own](README.md#gone)"])
def test_a_name_of_something_gone_is_found(tree, text):
    tree("README.md", text)
    assert len(list(lint.check_documents(None))) == 1
