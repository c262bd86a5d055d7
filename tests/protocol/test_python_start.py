"""What runs in Python before the snippet leaves no trace, and takes nothing from the image."""

import pytest

from support.images import image_with, user_images
from support.mcp_client import run
from support.sandbox import descendants_of, left_after

PACKAGES = "usr/lib/python3/dist-packages/"
OPTIONS = {"cold": ("--warm", "0"), "warm": ("--warm", "1"), "preloaded": ("--warm", "1", "--preload", "decimal")}


@pytest.fixture(params=OPTIONS)
def start_image(request, start_python, python_settings, tmp_path):
    """Starts a server on the usual image with more files; the next call is served in that way."""
    def start(files):
        base = user_images() / python_settings.get("CONTAINER_IMAGE", "python")
        server = start_python(*OPTIONS[request.param], CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python",
                              XDG_DATA_HOME=image_with(base, tmp_path / "store", files))
        if request.param != "cold":
            run(server, "")
            assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)
        return server

    return start


def test_a_usercustomize_of_the_image_is_imported_as_ever(start_image):
    server = start_image({PACKAGES + "usercustomize.py": "import sys\nseen = sys.path[:]\nprint('custom')\n"})
    texts, _ = run(server, "import sys; mine = sys.modules['usercustomize']\n"
                           "print(mine.__file__, mine.seen == sys.path[1:], mine.__spec__.name)")
    assert texts == [f"custom\n/{PACKAGES}usercustomize.py True usercustomize"]


def test_one_that_fails_is_reported_as_ever(start_image):
    server = start_image({PACKAGES + "usercustomize.py": "raise ValueError('mine')\n"})
    texts, record = run(server, "print(1)")
    assert texts == ["1", "Error in usercustomize; set PYTHONVERBOSE for traceback:\nValueError: mine"]
    assert record["exit_code"] == 0


def test_other_path_files_of_the_image_are_executed(start_image):
    server = start_image({PACKAGES + "mine.pth": "/usr/share\nimport sys; sys.mine = sys.path[:]\n"})
    texts, _ = run(server, "import sys; print(sys.mine == sys.path[1:], '/usr/share' in sys.path)")
    assert texts == ["True True"]


def test_reading_path_files_imports_nothing(start_python):
    """Where the user's packages are not looked at, the start leaves Python as it is."""
    code = "import encodings, sys; print(sorted(sys.modules), dir(encodings))"
    cold = start_python("--warm", "0")
    bare = start_python("--warm", "0", "--pass-through-env", "PYTHONNOUSERSITE", PYTHONNOUSERSITE="1")
    assert run(cold, code)[0] == run(bare, code)[0]


def test_nothing_of_it_is_left(start_image):
    server = start_image({})
    texts, _ = run(server, """if True:
        import os, site, sys
        print(os.listdir(os.environ["HOME"]), [place for place in [*sys.path, *sys.path_importer_cache]
                                               if "sandbox" in place], "PYTHON" in str(os.environ))
        print(site.ENABLE_USER_SITE, site.USER_SITE.startswith(os.environ["HOME"]),
              {"place", "file", "source", "space"} & {*vars(site)}, "USER_SITE" in vars(site))
        """)
    assert texts == ["[] [] False\nTrue True set() True"]
