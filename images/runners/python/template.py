"""Makes a template of a Python: what its forks do before and after the snippet.

Executed as preload.py is, at the end of site. template.c does the rest.
"""
import os
import sys

from preload import freeze, import_silently


def become_child(hindrance=lambda own: None):
    """Goes on in a child, and ends when that ends. Unless something is in the way: the server reads what, and there is no
    template.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write_end)
        if not os.read(read_end, 1):
            os._exit(1)
        os.close(read_end)
        return
    found = hindrance({read_end, write_end})
    if found is None:
        os.write(write_end, b"1")
    else:
        os.write(2, found.encode())
    os.close(write_end)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)


def shared(own):
    """What forks would have in common: open files but the standard streams, the template's, and `own`; memory."""
    opened = {int(it) for it in os.listdir("/proc/self/fd")} - {0, 1, 2, 3, 4, 5} - own
    if any(os.path.exists(f"/proc/self/fd/{it}") for it in opened):  # but the one that listed them
        return "a preloaded module keeps a file open"
    with open("/proc/self/maps") as file:
        if any(line.split()[1] in ("rw-s", "-w-s", "rwxs") for line in file):
            return "a preloaded module has shared memory"
    return None


def threads():
    """fork(2) copies none. What is stopped for a fork goes a little later; numexpr starts anew by itself."""
    import time
    numexpr = sys.modules.get("numexpr")
    anew = numexpr.get_num_threads() if hasattr(numexpr, "get_num_threads") else 0
    for _ in range(1000):
        if len(os.listdir("/proc/self/task")) - 1 in (0, anew):
            return None
        time.sleep(0.001)
    return "a preloaded module has started threads"


def make_template(modules):
    """modules: their names."""
    had = {name: name in sys.modules for name in ("atexit", "gc")}
    import atexit
    import gc
    for name, was_there in had.items():
        if not was_there:
            del sys.modules[name]
    # Programs have pid 2, as this process. Some libraries know a fork by another pid than they were loaded in, others by
    # another pid than before, so neither is 2.
    become_child()
    import_silently(modules)
    become_child(lambda own: shared(own) or threads())

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
