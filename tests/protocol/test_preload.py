"""--preload: modules that sandboxes made ahead have imported, and no trace of how."""

import json

from support.mcp_client import run
from support.sandbox import descendants_of, left_after

PREWARMED = "--warm", "1", "--template", "off"  # forks: tests/warm/test_template.py
SEEN = """
import json, os, sys
print(json.dumps({
    "preloaded": "decimal" in sys.modules,
    "helpers": [name for name in ("atexit", "gc") if name in sys.modules],
    "modules": [name for name in sys.modules if "usercustomize" in name],
    "path": sys.path,
    "importers": [*sys.path_importer_cache],
    "finders": [getattr(finder, "__name__", str(type(finder))) for finder in sys.meta_path],
    "variable": os.environ.get("PYTHONPATH"),
    "child": os.popen("echo $PYTHONPATH").read().strip(),
    "environment": open("/proc/self/environ").read(),
    "home": os.listdir(os.environ["HOME"]),
    "random": os.urandom(8).hex(),
}))
"""


def wait_for_one(server):
    assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)


def seen_by(server):
    texts, _ = run(server, SEEN)
    assert len(texts) == 1, texts  # nothing on stderr
    return json.loads(texts[0])


def test_modules_are_there_and_how_they_came_is_not(start_python):
    server = start_python(*PREWARMED, "--preload", "decimal,no_such_module")
    cold = seen_by(server)
    assert not cold["preloaded"]
    for _ in range(2):
        wait_for_one(server)
        warm = seen_by(server)
        assert warm.pop("preloaded") and warm.pop("random") != cold["random"]
        assert warm == {name: cold[name] for name in warm}
    assert cold["modules"] == cold["home"] == [] and cold["variable"] is None
    assert "PYTHON" not in cold["environment"]


def test_what_the_operator_passes_through_stays(start_python):
    server = start_python(*PREWARMED, "--preload", "decimal", "--pass-through-env", "PYTHONPATH",
                          PYTHONPATH="/usr/share:/srv")
    cold = seen_by(server)
    wait_for_one(server)
    warm = seen_by(server)
    assert warm["preloaded"] and warm["variable"] == warm["child"] == "/usr/share:/srv"
    assert warm["path"] == cold["path"] and warm["path"][1:3] == ["/usr/share", "/srv"]


def test_a_module_that_prints_or_ends_python_is_not_noticed(start_python):
    server = start_python(*PREWARMED, "--preload", "antigravity,this,idlelib.idle,decimal")
    seen_by(server)
    wait_for_one(server)
    assert run(server, "import os; print(os.listdir('/proc/self/fd'))")[0] == [
        "['0', '1', '2', '3']"]


GARBAGE = """
class Told:
    def __init__(self, text):
        self.text, self.itself = text, self
    def __del__(self):
        print(self.text)
import atexit, gc, sys
print(sys.argv[1:], gc.isenabled(), gc.get_freeze_count() > 0)
Told("collected")
gc.collect()
atexit.register(print, "at exit")
kept = Told("at the end")
"""


def test_garbage_of_the_snippet_is_collected_and_that_of_modules_is_not_looked_for(start_python):
    """Which the end of a run would take most of its time for."""
    server = start_python(*PREWARMED, "--preload", "decimal")
    (cold,), _ = run(server, GARBAGE)
    wait_for_one(server)
    (warm,), _ = run(server, GARBAGE)
    assert cold.splitlines() == ["[] True False", "collected", "at exit", "at the end"]
    assert warm == cold.replace("False", "True")


HELD = """
import __main__, rlcompleter, sys
spam = 1
print(rlcompleter.Completer().complete("spa", 0), rlcompleter.__main__ is __main__ is sys.modules["__main__"])
"""


def test_modules_that_know_main_know_that_of_the_snippet(start_python):
    """As dill and rlcompleter do, which import it when they are imported."""
    server = start_python(*PREWARMED, "--preload", "rlcompleter")
    (cold,), _ = run(server, HELD)
    wait_for_one(server)
    (warm,), _ = run(server, HELD)
    assert warm == cold == "spam True"


LEFT_OPEN = """
import json, os
json.held = os.fdopen(os.dup(1), "w")
json.held.write("left in a buffer")
"""


def test_what_is_left_open_is_closed_though_a_module_holds_it(start_python):
    server = start_python(*PREWARMED, "--preload", "json")
    (cold,), _ = run(server, LEFT_OPEN)
    wait_for_one(server)
    (warm,), _ = run(server, LEFT_OPEN)
    assert warm == cold == "left in a buffer"
