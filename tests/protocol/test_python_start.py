"""What runs in Python before the snippet leaves no trace, and takes nothing from the image."""

import base64
import importlib.util
import marshal
import pathlib
import resource
import subprocess
import sys

import pytest

from support.images import image_with, user_images
from support.mcp_client import run
from support.sample import in_gate
from support.sandbox import descendants_of, left_after

PACKAGES = "usr/lib/python3/dist-packages/"
SOURCES = pathlib.Path(__file__).resolve().parents[2] / "images/runners/python"
OPTIONS = {"cold": ("--warm", "0"), "warm": ("--warm", "1"), "preloaded": ("--warm", "1", "--preload", "decimal"),
           "forked": ("--warm", "1", "--template", "auto")}


@pytest.fixture(params=in_gate(OPTIONS, 2))
def start_image(request, start_python, python_settings, tmp_path):
    """Starts a server on the usual image with more files; the next call is served in that way.

    Where these print, there are no forks: each run is to print it.
    """
    def start(files, prints=False):
        base = user_images() / python_settings.get("CONTAINER_IMAGE", "python")
        server = start_python(*OPTIONS[request.param], CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python",
                              XDG_DATA_HOME=image_with(base, tmp_path / "store", files))
        if request.param == "forked":
            assert prints == left_after(2 if prints else 30, lambda: run(server, "")[1]["start"] != "forked")
        elif request.param != "cold":
            run(server, "")
            assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)
        return server

    return start


def test_a_usercustomize_of_the_image_is_imported_as_ever(start_image):
    server = start_image({PACKAGES + "usercustomize.py": "import sys\nseen = sys.path[:]\nprint('custom')\n"},
                         prints=True)
    texts, _ = run(server, "import sys; mine = sys.modules['usercustomize']\n"
                           "print(mine.__file__, mine.seen == sys.path[1:], mine.__spec__.name)")
    assert texts == [f"custom\n/{PACKAGES}usercustomize.py True usercustomize"]


def test_one_that_fails_is_reported_as_ever(start_image):
    server = start_image({PACKAGES + "usercustomize.py": "raise ValueError('mine')\n"}, prints=True)
    texts, record = run(server, "print(1)")
    assert texts == ["1", "Error in usercustomize; set PYTHONVERBOSE for traceback:\nValueError: mine"]
    assert record["exit_code"] == 0


def test_other_path_files_of_the_image_are_executed(start_image):
    """They see that there are packages of the user, before those of the image."""
    server = start_image({PACKAGES + "mine.pth": "/usr/share\nimport sys; sys.mine = sys.path[:]\n"})
    texts, _ = run(server, "import os, sys; own = [place for place in sys.mine if os.environ['HOME'] not in place]\n"
                           "print(own == sys.path[1:], len(sys.mine) - len(own), '/usr/share' in sys.path)")
    assert texts == ["True 1 True"]


def test_a_sitecustomize_of_the_image_is_imported_as_ever(start_image):
    place = "usr/lib/python3.13/sitecustomize.py"  # Debian has one there, which hides all others
    cache = "usr/lib/python3.13/__pycache__/sitecustomize.cpython-313.pyc"
    server = start_image({place: "print('site')\n", cache: "", PACKAGES + "usercustomize.py": "print('user')\n"},
                         prints=True)
    texts, _ = run(server, "import sys; print(sys.modules['sitecustomize'].__file__)")
    assert texts == [f"site\nuser\n/{place}"]


@pytest.mark.parametrize("name", ["PYTHONNOUSERSITE", "PYTHONUSERBASE", "HOME"])
@pytest.mark.parametrize("way", OPTIONS)
def test_python_that_does_not_look_for_it_finds_no_files(start_python, name, way):
    server = start_python(*OPTIONS[way], "--env", f"{name}=/none")
    for _ in range(2):
        texts, _ = run(server, "import os, sys; print(os.listdir('/home/sandbox'), len(sys.meta_path))")
        assert texts == ["[] 3"]


@pytest.mark.parametrize("way", OPTIONS)
def test_the_smallest_disk_is_no_obstacle(start_python, way):
    server = start_python(*OPTIONS[way], "--disk", "64K")
    for _ in range(2):
        texts, record = run(server, "import json, sys; print(json.dumps(len(sys.meta_path)))")
        assert texts == ["4"] and record["exit_code"] == 0


@pytest.mark.parametrize("share", ["code", "files"])
def test_what_a_snippet_needs_of_a_small_disk_comes_first(start_python, share):
    """Of 16 pages, 15 are taken: the start would have needed 3."""
    server = start_python("--warm", "0", "--disk", "64K")
    code = "import sys; print(len(sys.meta_path))\n"
    arguments = {"code": code + "#" * 57400} if share == "code" else {
        "code": code, "files": [{"name": name, "text": 28000 * "x"} for name in "ab"]}
    result = server.result("tools/call", {"name": "run_python_code", "arguments": arguments})
    assert server.text_of(result) == "3"


def test_a_small_limit_of_file_size_is_no_obstacle(start_python):
    server = start_python("--warm", "1")
    assert run(server, "import sys; print(len(sys.meta_path))")[0] == ["4"]
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
    for _ in range(3):
        assert run(server, "import sys; print(len(sys.meta_path))")[0] == ["3"]


@pytest.mark.parametrize("options", ["-s", "-S", "-I", "-E", ""])
def test_other_interpreters_of_a_snippet_start_as_ever(start_python, options):
    server = start_python("--warm", "0")
    texts, _ = run(server, "import subprocess, sys\n"
                           f"subprocess.run([sys.executable, *'{options}'.split(), '-c', "
                           "'import sys; print(len(sys.meta_path), \"usercustomize\" in sys.modules)'])")
    assert texts == ["3 False"]


def test_the_start_imports_nothing(start_python):
    """Where the user's packages are not looked at, the start leaves Python as it is."""
    code = "import encodings, sys; print(sorted(sys.modules), dir(encodings), sorted(sys.path_importer_cache))"
    cold = start_python("--warm", "0")
    bare = start_python("--warm", "0", "--pass-through-env", "PYTHONNOUSERSITE", PYTHONNOUSERSITE="1")
    assert run(cold, code)[0] == run(bare, code)[0]


def bytecode_of(version):
    """The start compiled for a version of Python, without the head of the file."""
    sys.path.insert(0, str(SOURCES))
    import bytecode  # from the sources

    sys.path.remove(str(SOURCES))
    files, _ = bytecode.read((SOURCES / "start.bytecode").read_text())
    return files[version][16:]


def compiled(source):
    return compile(source, "<string>", "exec", dont_inherit=True, optimize=2)


def test_bytecode_is_that_of_the_source(start_python):
    """For the Python of the image; the version of the tests' own is another, as a rule."""
    source = (SOURCES / "start.py").read_text()
    server = start_python("--warm", "0")
    (version,), _ = run(server, "import sys; print('%d.%d' % sys.version_info[:2])")
    files = [{"name": "start.py", "text": source},
             {"name": "start.marshal", "base64": base64.b64encode(bytecode_of(version)).decode()}]
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {"files": files, "code": """
import marshal
code = compile(open("start.py").read(), "<string>", "exec", dont_inherit=True, optimize=2)
print(marshal.loads(open("start.marshal", "rb").read()) == code)"""}})
    assert server.text_of(result) == "True"


def test_bytecode_for_the_python_of_the_tests_is_that_of_the_source():
    version = "%d.%d" % sys.version_info[:2]
    assert marshal.loads(bytecode_of(version)) == compiled((SOURCES / "start.py").read_text())


@pytest.mark.parametrize("options", [(), ("-B",)])
@pytest.mark.parametrize("name", ["usercustomize.py", "usercustomize.pyc"])
def test_a_version_without_bytecode_compiles_the_source(tmp_path, name, options):
    """In the Python of the tests: nothing of it is left, not even what that has compiled."""
    version = "python%d.%d" % sys.version_info[:2]
    place = tmp_path / ".local/lib" / version / "site-packages"
    place.mkdir(parents=True)
    source = (SOURCES / "start.py").read_bytes()
    head = importlib.util.MAGIC_NUMBER + bytes(12)
    content = source if name.endswith(".py") else head + marshal.dumps(compiled(source))
    (place / name).write_bytes(content)
    (place / "preload.py").write_text("import sys; sys.preloaded = sys.path[:]")
    (tmp_path / "other").touch()
    code = "import os, sys; print(os.listdir(os.environ['HOME']), len(sys.meta_path), sys.preloaded == sys.path[1:])"
    found = subprocess.run([sys.executable, *options, "-c", code], env={"HOME": str(tmp_path)}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    bare = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.meta_path))"], env={"HOME": str(tmp_path)},
                          text=True, stdout=subprocess.PIPE, check=True)
    assert found.stdout == f"['other'] {int(bare.stdout) + 1} True\n"


def test_nothing_of_it_is_left(start_image):
    server = start_image({})
    texts, _ = run(server, """if True:
        import os, site, sys
        print(os.listdir(os.environ["HOME"]), [place for place in [*sys.path, *sys.path_importer_cache]
                                               if "sandbox" in place], "PYTHON" in str(os.environ))
        print(site.ENABLE_USER_SITE, site.USER_SITE.startswith(os.environ["HOME"]),
              {"place", "cached", "take", "figures"} & {*vars(site)}, "USER_SITE" in vars(site))
        """)
    assert texts == ["[] [] False\nTrue True set() True"]


def test_another_language_on_the_same_image_has_none_of_it(start):
    server = start("--bash-image", "python")
    server.initialize()
    for _ in range(2):
        assert server.call("run_python_code", "print(1)")["content"][0]["text"] == "1"
        result = server.call("run_bash_code", "find ~ -name '*customize*'; echo end  # import matplotlib.pyplot as plt")
        assert result["content"][0]["text"] == "end"
