"""Imports modules in a Python that waits for its code, and removes every trace of how.

Executed by start.py, at the end of site, when all of sys.path is there.
"""
import os
import sys


def preload(modules):
    """modules: their names."""
    known = {name: name in sys.modules for name in ("atexit", "gc")}
    import atexit
    import gc

    # What is frozen may hold what the snippet made, and that may want to be closed at the end.
    def last_of_all():
        if any(hasattr(type(it), "__del__") for it in gc.get_objects()):
            gc.unfreeze()

    atexit.register(last_of_all)
    for name, was_there in known.items():
        if not was_there:
            del sys.modules[name]
    import_silently(modules)
    freeze(gc)


def import_silently(modules):
    """What modules print as they are imported is not of the snippet."""
    streams = {1: os.dup(1), 2: os.dup(2)}
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(null, stream)
    for name in modules:
        try:
            __import__(name)
        except BaseException:  # as if it had not been wanted: the snippet will be told
            pass
    for stream, former in streams.items():
        os.dup2(former, stream)
        os.close(former)
    os.close(null)


def freeze(gc):
    """Else the end of the interpreter takes all of it apart, ten times as long as a short run."""
    first = sys.modules["__main__"]
    holders = [it for it in gc.get_referrers(first) if type(it) is dict]
    gc.freeze()
    # What the snippet's names are in is no part of that; sys.modules and modules may have it.
    main = type(sys)("__main__")
    main.__dict__.clear()
    main.__dict__.update(first.__dict__)
    for holder in holders:
        for name in [name for name, it in holder.items() if it is first]:
            holder[name] = main
