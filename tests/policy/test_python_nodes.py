"""Every kind of node and field of Python's syntax is looked at by the checker: none may hide a name.

NODES lists all of Python 3.8 to 3.14, and which fields hold no expression. A node or field of a newer Python that is not
in it fails here; the checker itself visits what it does not know.
"""

import ast
import copy
import sys

import pytest

from support.mcp_client import ROOT

sys.path.insert(0, str(ROOT / "images" / "runners" / "python"))
from check import Checker  # noqa: E402  pylint: disable=wrong-import-position

# Fields before ":" hold expressions, statements or patterns; those after it hold other nodes, whose fields are in turn
# in this table, or nothing that runs.
NODES = {
    "Module": "body: type_ignores", "FunctionDef": "body decorator_list returns: name args type_comment type_params",
    "AsyncFunctionDef": "body decorator_list returns: name args type_comment type_params",
    "ClassDef": "bases body decorator_list: name keywords type_params", "Return": "value:", "Delete": "targets:",
    "Assign": "targets value: type_comment", "TypeAlias": "name value: type_params", "AugAssign": "target value: op",
    "AnnAssign": "target annotation value: simple", "For": "target iter body orelse: type_comment",
    "AsyncFor": "target iter body orelse: type_comment", "While": "test body orelse:", "If": "test body orelse:",
    "With": "body: items type_comment", "AsyncWith": "body: items type_comment", "Match": "subject: cases",
    "Raise": "exc cause:", "Try": "body orelse finalbody: handlers", "TryStar": "body orelse finalbody: handlers",
    "Assert": "test msg:", "Import": ": names", "ImportFrom": ": module names level", "Global": ": names", "Nonlocal": ": names",
    "Expr": "value:", "Pass": ":", "Break": ":", "Continue": ":",
    "BoolOp": "values: op", "NamedExpr": "target value:", "BinOp": "left right: op", "UnaryOp": "operand: op",
    "Lambda": "body: args", "IfExp": "test body orelse:", "Dict": "keys values:", "Set": "elts:", "ListComp": "elt: generators",
    "SetComp": "elt: generators", "DictComp": "key value: generators", "GeneratorExp": "elt: generators", "Await": "value:",
    "Yield": "value:", "YieldFrom": "value:", "Compare": "left comparators: ops", "Call": "func args: keywords",
    "FormattedValue": "value format_spec: conversion", "Interpolation": "value format_spec: str conversion",
    "JoinedStr": "values:", "TemplateStr": "values:", "Constant": ": value kind", "Attribute": "value: attr ctx",
    "Subscript": "value slice: ctx", "Starred": "value: ctx", "Name": ": id ctx", "List": "elts: ctx", "Tuple": "elts: ctx",
    "Slice": "lower upper step:", "comprehension": "target iter ifs: is_async", "ExceptHandler": "type body: name",
    "arguments": "kw_defaults defaults: posonlyargs args vararg kwonlyargs kwarg", "arg": "annotation: arg type_comment",
    "keyword": "value: arg", "alias": ": name asname", "withitem": "context_expr optional_vars:",
    "match_case": "pattern guard body:", "MatchValue": "value:", "MatchSingleton": ": value", "MatchSequence": "patterns:",
    "MatchMapping": "keys patterns: rest", "MatchClass": "cls patterns kwd_patterns: kwd_attrs", "MatchStar": ": name",
    "MatchAs": "pattern: name", "MatchOr": "patterns:", "TypeIgnore": ": lineno tag", "TypeVar": "bound default_value: name",
    "ParamSpec": "default_value: name", "TypeVarTuple": "default_value: name",
    # Of earlier versions, or no part of a program.
    "Index": "value:", "ExtSlice": "dims:", "Interactive": "body:", "Expression": "body:", "FunctionType": "argtypes returns:",
    "Suite": "body:", "AugLoad": ":", "AugStore": ":", "Param": ":", "Num": ": n", "Str": ": s", "Bytes": ": s", "NameConstant": ": value kind",
    "Ellipsis": ":",
}
NO_PROGRAM = {"Index", "ExtSlice", "Interactive", "Expression", "FunctionType", "Suite", "AugLoad", "AugStore", "Param", "Num", "Str", "Bytes",
              "NameConstant", "Ellipsis", "TypeIgnore", "Module"}
ABSTRACT = {"mod", "stmt", "expr", "expr_context", "slice", "boolop", "operator", "unaryop", "cmpop", "excepthandler", "pattern",
            "type_ignore", "type_param"}
OPERATORS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)

ZOO = '''
@a
def f(a: b = c, /, d: e = g, *h: i, j: k = l, m, **n: o) -> p:
    global q
    return r
@a
async def f() -> b:
    async for a in b: c
    else: d
    async with a as b: c
    await a
    yield a
    def g():
        nonlocal a
    return [a async for b in c]
def f():
    yield
    yield from a
@a
class A(b, metaclass=c): d
del a.b, a[b], (a, b), [a]
a.b = c, *d
a[b:c:d] = e
(a, [b]) = c
a.b += c
a.b: c = d
a[b]: c
a: b
for a.b in c: d
else: e
while a: b
else: c
for a in b:
    break
    continue
if a: b
elif c: d
with a as b.c, d: e
raise a from b
try: a
except b as c: d
else: e
finally: f
assert a, b
import a as b
from a import b as c
pass
a and b
(a := b)
a + b
-a
lambda a=b, *, c=d: e
a if b else c
{a: b, **c}
{a, b}
[a for b in c if d]
{a for b in c if d}
{a: b for c in d if e}
(a for b in c if d)
a < b < c
a(b, *c, d=e, **f)
f"{a!r:{b}}"
1
a.b
a[b]
'''
MATCH = '''
match a:
    case 1 if b: c
    case None: c
    case [a, *b]: c
    case {1: a, **b}: c
    case A(a, b=c): d
    case a.b | 2: c
    case (1 | 2) as b: c
'''
NEWER = {(3, 10): MATCH, (3, 11): "try: a\nexcept* b as c: d\nelse: e\nfinally: f\n",
         (3, 12): "type A[B: c, *D, **E] = f\ndef f[B: c](): pass\nclass A[B: c]: pass\n",
         (3, 13): "type A[B = c, *D = e, **F = g] = h\n", (3, 14): "t'{a!r:{b}}'\n"}


def zoo():
    text = ZOO + "".join(part for version, part in NEWER.items() if sys.version_info >= version)
    return ast.parse(text)


def fields_of(name):
    looked_at, _, rest = NODES[name].partition(":")
    return looked_at.split(), rest.split()


def concrete(kind=ast.AST):
    for below in kind.__subclasses__():
        yield from concrete(below)
        yield below


def test_all_nodes_and_fields_of_this_python_are_in_the_table():
    unknown = []
    for kind in concrete():
        name = kind.__name__
        if name in ABSTRACT or issubclass(kind, OPERATORS) or kind.__module__ not in ("ast", "_ast"):
            continue
        looked_at, rest = fields_of(name) if name in NODES else ([], [])
        unknown += [(name, field) for field in kind._fields if field not in looked_at + rest] or ([name] if name not in NODES else [])
    assert unknown == []


def hidden(kind, old):
    """What a field that holds `old` may hold instead, with the import of a module in it."""
    loaded = ast.parse("__import__('subprocess')", mode="eval").body
    if isinstance(old, ast.stmt):
        return ast.Expr(loaded)
    if type(old).__name__.startswith("Match"):
        return ast.MatchValue(ast.Attribute(loaded, "x", ast.Load()))
    context = getattr(old, "ctx", None)
    if isinstance(context, (ast.Store, ast.Del)) or kind in (ast.NamedExpr,):
        return ast.Attribute(loaded, "x", copy.deepcopy(context) or ast.Store())
    return loaded


def places(tree):
    """(node, field, place in the list or None) of everything in a tree that a program may be put in."""
    for node in ast.walk(tree):
        name = type(node).__name__
        if name in NO_PROGRAM or isinstance(node, OPERATORS):
            continue
        for field in fields_of(name)[0]:
            value = getattr(node, field, None)
            if isinstance(value, list):
                yield from ((node, field, place) for place, one in enumerate(value) if isinstance(one, ast.AST))
            elif isinstance(value, ast.AST):
                yield node, field, None


def test_zoo_has_every_field_of_this_python():
    found = {(type(node).__name__, field) for node, field, _ in places(zoo())}
    missing = [(kind.__name__, field) for kind in concrete() if kind.__module__ in ("ast", "_ast")
               and kind.__name__ not in ABSTRACT | NO_PROGRAM and not issubclass(kind, OPERATORS)
               for field in fields_of(kind.__name__)[0] if field in kind._fields and (kind.__name__, field) not in found]
    assert missing == []


@pytest.mark.parametrize("wants_literals", [False, True])
def test_no_field_hides_a_name(wants_literals):
    missed = []
    for number in range(len(list(places(zoo())))):
        tree = zoo()
        node, field, place = list(places(tree))[number]
        value = getattr(node, field)
        if place is None:
            setattr(node, field, hidden(type(node), value))
        else:
            value[place] = hidden(type(node), value[place])
        ast.fix_missing_locations(tree)
        checker = Checker(wants_literals, False, ())
        checker.program(tree)
        if ["import", "subprocess"] not in [fact[:2] for fact in checker.facts]:
            missed.append((type(node).__name__, field, place))
    assert missed == []
