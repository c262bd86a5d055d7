"""Modules by their names, without importing them: a part of check.py."""
import importlib.util
import sys

MISSING_MAX = 10000


def member(base, name):
    """A member of a module by its own name, and a module by that of its own: os.path.os is os."""
    if base in ("builtins", "__builtins__"):
        return name
    whole = f"{base}.{name}"
    value = vars(sys.modules[base]).get(name) if base in sys.modules else None
    return value.__name__ if type(value) is type(sys) and whole not in sys.modules else whole


def members(base, name, unbound):
    """The same, and a module of the library that another one has imported: pathlib.os."""
    whole = member(base, name)
    is_module = name in sys.stdlib_module_names and whole != name and base.split(".")[0] not in unbound
    return (whole, name) if is_module else (whole,)


MISSING = {}


def is_missing(top):
    """Whether this interpreter has no such module. Nothing is imported."""
    if len(MISSING) > MISSING_MAX:
        MISSING.clear()
    if top not in MISSING:
        try:
            MISSING[top] = importlib.util.find_spec(top) is None
        except (ImportError, ValueError, AttributeError):
            MISSING[top] = False
    return MISSING[top]
