"""Where names are bound in a program: a part of check.py."""
import ast


class Scope:
    def __init__(self, parent, bound, node=None, is_class=False):
        self.parent = parent
        self.node = node  # whose scope it is; None: the program's
        self.is_class = is_class
        self.bound = bound  # names that belong to this scope
        self.values = {}  # name: what it may stand for
        self.constants = {}  # name: its value, or UNKNOWN
        self.stars = parent.stars if parent else []


# Where a statement binds names, unless an expression does by ":=".
BINDING_FIELDS = {
    ast.Assign: ("targets",), ast.AugAssign: ("target",), ast.AnnAssign: ("target",), ast.Expr: (), ast.Return: (), ast.Raise: (),
    ast.Assert: (), ast.If: ("body", "orelse"), ast.While: ("body", "orelse"), ast.For: ("target", "body", "orelse"),
    ast.AsyncFor: ("target", "body", "orelse"), ast.With: ("items", "body"), ast.AsyncWith: ("items", "body"),
    ast.withitem: ("optional_vars",), ast.Attribute: (), ast.Subscript: (),
}
LEAVES = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def children(node, fields):
    """As ast.iter_child_nodes(), in half the time."""
    found = []
    for field in fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, LEAVES):
            found.append(value)
    return found


class Bound(set):
    """Names that a scope binds; `program`: those that it says are the program's."""
    program = frozenset()


def bound_in(nodes, arguments=None, has_walrus=True):
    """Names that a scope binds, but for those that it leaves to others."""
    bound, elsewhere = Bound(), set()
    if arguments is not None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bound.update(argument.arg for argument in every if argument)
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load:
                bound.add(node.id)
            continue
        if kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            bound.add(node.name)
            continue
        if kind is ast.Lambda:
            continue
        if kind in (ast.Import, ast.ImportFrom):
            bound.update((alias.asname or alias.name.split(".")[0]) for alias in node.names)
            continue
        if kind in (ast.Global, ast.Nonlocal):
            elsewhere.update(node.names)
            if kind is ast.Global:
                bound.program |= set(node.names)
        elif kind in (ast.ExceptHandler, ast.MatchAs, ast.MatchStar) and node.name:
            bound.add(node.name)
        waiting += children(node, node._fields if has_walrus else BINDING_FIELDS.get(kind, node._fields))
    bound -= elsewhere
    return bound
