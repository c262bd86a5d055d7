"""Makes a template of a Python: what its forks do before and after the snippet.

Executed as preload.py is, at the end of site. template.c does the rest.
"""
import os
import sys

from preload import freeze, import_silently


def make_template(modules):
    """modules: their names."""
    had = {name: name in sys.modules for name in ("atexit", "gc")}
    import atexit
    import gc
    for name, was_there in had.items():
        if not was_there:
            del sys.modules[name]
    import_silently(modules)
    # The template has a pid that no fork has, by which some libraries know their forks; and no threads, since
    # fork(2) copies none. Those that libraries stop for a fork are gone after it.
    template = os.fork()
    if template:
        if len(os.listdir("/proc/self/task")) > 1:
            os.kill(template, 9)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(template, 0)[1]) & 255)

    def nothing_is_left():
        """Whether no object of the snippet may want to be closed in its turn. Else the end looks at all objects."""
        if not any(hasattr(type(it), "__del__") for it in gc.get_objects()):
            return True
        gc.unfreeze()
        return False

    end = type(sys)("template")
    end.atexit, end.known, end.nothing_is_left = atexit, set(sys.modules) - {"__main__"}, nothing_is_left
    sys.modules["template"] = end
    freeze(gc)
    import _imp
    try:
        _imp.create_dynamic(type(sys.implementation)(name="template", origin="/proc/self/fd/4"))
    except (ImportError, SystemError):
        pass
    del sys.modules["template"]
