"""Says what a program names, without running it: modules, their members, what is decided at run time.

A cell of a session of its own, and check() in each later one. What is found are facts, of which the server
makes findings (interpreter/rules): [kind, name, line, column], each pair of kind and name once.

    import   a module, by a statement or a function:  subprocess
    name     a member of a module:                    os.system
    global   a builtin:                               eval
    literal  a string, if they are asked for
    missing  a module that this image has not, if they are asked for
    dynamic  what cannot be known before the run:     exec of something that is not constant

Names are followed through aliases, and strings through what is done to constants. This is advice, no wall:
a program that hides what it does from this is found by the sandbox alone.
"""
import ast
import gc
import json
import sys

from constants import UNKNOWN, Constants
from modules import is_missing, member
from names import BUILTINS, IMPORTERS, VALUES_MAX, Names
from scopes import Bound, Scope, bound_in, children

gc.disable()  # trees have no cycles, and are freed at once

sys.setrecursionlimit(10000)  # of trees, which are deep where a sum is long

FACTS_MAX = LITERALS_MAX = 4096
LITERAL_MAX = 4096  # characters of one
NAME_MAX = 256  # characters of a name, whose beginning decides
DEPTH_MAX = 8  # of programs in strings
PASSES_MAX = 4  # over a program whose names are used before they are bound
EVALUATORS = {"exec", "eval", "compile"}
HANDLED = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


class Checker(Names, Constants):
    def __init__(self, wants_literals, wants_missing, known, lines=()):
        super().__init__()
        self.facts = []
        self.literals = 0
        self.more = False  # than has room
        self.lines = lines
        self.seen = set()
        self.unbound = set()  # names that nothing in the program binds: of an earlier cell, perhaps
        self.resolved = {}  # expressions of one statement: what they may stand for
        self.early = {}  # (node of a scope, name): the scope; looked up when nothing was known of it
        self.carried = {}  # node of a scope: {name: what it stands for later}
        self.wants_literals, self.wants_missing, self.known = wants_literals, wants_missing, known
        self.scope = self.outermost = None
        self.later = []  # bodies of functions, which are run after what is around them
        self.depth = 0
        self.place = None  # of a program in a string
        self.guarded = 0  # inside of try, whose handler takes a missing module
        self.has_walrus = True

    def add(self, kind, name, node):
        if kind == "name" and (name in BUILTINS or name.split(".")[0] in self.unbound):
            kind = "global"
        name = name[:LITERAL_MAX if kind == "literal" else NAME_MAX]
        if (kind, name) in self.seen:
            return
        is_literal = kind == "literal"
        if self.literals == LITERALS_MAX if is_literal else len(self.facts) - self.literals == FACTS_MAX:
            self.more = True
            return
        self.literals += is_literal
        self.seen.add((kind, name))
        line, column = self.place or self.place_of(node)
        self.facts.append([kind, name, line, column])

    def place_of(self, node):
        """Line and column, in characters; the parser counts bytes."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        if 0 < line <= len(self.lines) and not self.lines[line - 1].isascii():
            offset = len(self.lines[line - 1][:offset].decode("utf-8", "ignore"))
        return line, offset + 1

    def add_import(self, name, node):
        self.add("import", name, node)
        top = name.split(".")[0]
        if self.wants_missing and not self.guarded and top not in self.known and is_missing(top):
            self.add("missing", top, node)

    # Programs and scopes.

    def program(self, tree):
        """Again with what is known at its end, where a name is bound after its use: by a function, in a loop."""
        for _ in range(PASSES_MAX):
            self.early, self.unbound, known = {}, set(), self.carried
            self.outermost = self.scope_at(None, None, bound_in(tree.body, None, self.has_walrus))
            self.body(tree.body, self.outermost)
            self.carried = {}
            for (node, name), scope in self.early.items():
                if scope.values.get(name):
                    self.carried.setdefault(node, {})[name] = scope.values[name]
            if not self.carried:
                break
            for node, values in known.items():
                self.carried[node] = {**values, **self.carried.get(node, {})}
        self.carried = {}

    def scope_at(self, node, parent, bound, is_class=False):
        scope = Scope(parent, bound, node, is_class)
        for name, values in self.carried.get(node, {}).items():
            scope.values[name] = values
            scope.bound.add(name)
        return scope

    def body(self, nodes, scope):
        outer, self.scope = self.scope, scope
        later, self.later = self.later, []
        for node in nodes:
            self.visit(node)
        state = self.place, self.guarded
        for function, inner, self.place, self.guarded in self.later:
            self.body(function, inner)
        self.place, self.guarded = state
        self.scope, self.later = outer, later

    def function(self, node, nodes):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        annotations = [argument.annotation for argument in every if argument]
        for part in [*arguments.defaults, *arguments.kw_defaults, *annotations]:
            if part is not None:
                self.visit(part)
        for part in [*others(arguments, ARGUMENTS), *(child for argument in every if argument for child in others(argument, ARGUMENT))]:
            self.visit(part)
        parent = self.scope
        while parent.is_class:
            parent = parent.parent
        inner = self.scope_at(node, parent, bound_in(nodes, node.args, self.has_walrus))
        ordinary = [*arguments.posonlyargs, *arguments.args]
        for argument, default in [*zip(ordinary[::-1], arguments.defaults[::-1]), *zip(arguments.kwonlyargs, arguments.kw_defaults)]:
            if default is not None:
                inner.values[argument.arg] = self.resolve(default)
        self.later.append((nodes, inner, self.place, self.guarded))

    # Statements and expressions, in the order of the program.

    def visit(self, node):
        if isinstance(node, ast.stmt):
            self.resolved.clear()
        handler, fields = HANDLERS.get(type(node), NONE)
        if handler is not None:
            handler(self, node)
        for child in others(node, fields):
            self.visit(child)

    def visit_import(self, node):
        for alias in node.names:
            self.add_import(alias.name, node)
            name = alias.asname or alias.name.split(".")[0]
            self.bind(name, (alias.name if alias.asname else name,))

    def visit_import_from(self, node):
        if node.level > 0 or node.module is None:
            return
        self.add_import(node.module, node)
        for alias in node.names:
            if alias.name == "*":
                self.scope.stars.append(node.module)
                continue
            name = member(node.module, alias.name)
            self.add("name", name, node)
            self.bind(alias.asname or alias.name, (name,))

    def bind(self, name, values, constant=UNKNOWN):
        scope = self.scope_of(name)
        scope.bound.add(name)  # by "global", too
        self.resolved.clear()
        if values:
            scope.values[name] = tuple(dict.fromkeys(scope.values.get(name, ()) + tuple(values)))[:VALUES_MAX]
        is_new = name not in scope.constants
        scope.constants[name] = constant if is_new or scope.constants[name] == constant else UNKNOWN

    def visit_assign(self, node):
        value = node.value
        if value is None:
            if type(node.target) is not ast.Name:
                self.visit(node.target)
            return
        self.visit(value)
        for target in node.targets if type(node) is ast.Assign else [node.target]:
            self.assign(target, value)

    def assign(self, target, value):
        if type(target) is ast.Name:
            self.bind(target.id, self.resolve(value), self.fold(value))
        elif type(target) in (ast.Tuple, ast.List) and type(value) in (ast.Tuple, ast.List) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts):
                self.assign(one, other)
        else:
            self.forget(target)
            self.visit(target)

    def forget(self, target):
        """It is bound to what is not known."""
        for node in ast.walk(target):
            if type(node) is ast.Name and type(node.ctx) is not ast.Load:
                self.bind(node.id, ())

    def visit_aug_assign(self, node):
        self.visit(node.value)
        if type(node.target) is not ast.Name:
            self.visit(node.target)
            return
        scope, name = self.scope_of(node.target.id), node.target.id
        folded = self.fold(ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value))
        scope.constants[name] = folded

    def visit_for(self, node):
        if type(node.target) is ast.Name and type(node.iter) in (ast.List, ast.Tuple):
            self.bind(node.target.id, self.resolve(node.iter))
        else:
            self.forget(node.target)
        for child in children(node, node._fields):
            self.visit(child)

    def visit_try(self, node):
        caught = {name.id for handler in node.handlers for name in ast.walk(handler.type or ast.Name("Exception", ast.Load()))
                  if type(name) is ast.Name}
        self.guarded += bool(caught & HANDLED)
        for child in node.body:
            self.visit(child)
        self.guarded -= bool(caught & HANDLED)
        for child in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(child)

    def visit_guard(self, node):
        """What only sometimes runs may be what only sometimes can: imports for another system or version."""
        is_guard = type(node) is ast.If or any(name.id == "suppress" for item in node.items for name in ast.walk(item)
                                               if type(name) is ast.Name)
        self.guarded += is_guard
        for child in children(node, node._fields):
            self.visit(child)
        self.guarded -= is_guard

    def visit_function(self, node):
        for child in [*node.decorator_list, *filter(None, [node.returns])]:
            self.visit(child)
        self.function(node, node.body)

    def visit_lambda(self, node):
        self.function(node, [node.body])

    def visit_class(self, node):
        for child in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(child)
        self.body(node.body, self.scope_at(node, self.scope, bound_in(node.body, None, self.has_walrus), is_class=True))

    def visit_comprehension(self, node):
        bound = Bound().union(*(bound_in([part.target]) for part in node.generators))
        scope = self.scope_at(node, self.scope, Bound(bound))
        outer, self.scope = self.scope, scope
        for child in children(node, node._fields):
            self.visit(child)
        self.scope = outer

    def visit_expression_statement(self, node):
        if not (type(node.value) is ast.Constant and isinstance(node.value.value, str)):  # a docstring does nothing
            self.visit(node.value)

    def visit_name(self, node):
        if type(node.ctx) is ast.Load:
            for name in self.look_up(node.id):
                self.add("name", name, node)

    def visit_attribute(self, node):
        names = self.resolve(node)
        for name in names:
            self.add("name", name, node)
        if names:
            self.visit_parts(node)
        else:
            self.visit(node.value)

    def visit_subscript(self, node):
        for name in self.resolve(node):
            self.add("name", name, node)
        bases = self.resolve(node.value)
        if any(base == "sys.modules" or base.endswith((".__dict__", "globals()", "locals()", "vars()")) or base == "__builtins__"
               for base in bases) and type(node.ctx) is ast.Load and not isinstance(self.fold(node.slice), str):
            self.add("dynamic", f"{bases[0]}[...]", node)
        for child in children(node, node._fields):
            self.visit(child)

    def visit_constant(self, node):
        if self.wants_literals and isinstance(node.value, str):
            self.add("literal", node.value, node)

    def add_folded(self, node):
        """Whether it is a string, whose parts are none of their own."""
        value = self.fold(node)
        if isinstance(value, str):
            self.add("literal", value, node)
        return isinstance(value, str)

    def visit_folded(self, node):
        if self.wants_literals and self.add_folded(node):
            self.wants_literals = False
            self.visit_folded(node)
            self.wants_literals = True
            return
        for child in children(node, node._fields):
            self.visit(child)

    def visit_call(self, node):
        functions = self.resolve(node.func)
        for function in functions:
            self.add("name", function, node.func)
            self.call(function, node)
        for name in self.resolve_call(node, functions):
            if not name.endswith("()"):
                self.add("name", name, node)
        if self.wants_literals and self.add_folded(node):
            self.wants_literals = False
            self.visit_call(node)
            self.wants_literals = True
            return
        if not functions:
            self.visit(node.func)
        elif type(node.func) is not ast.Name:
            self.visit_parts(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            self.visit(keyword.value)

    def visit_parts(self, node):
        """What is inside of a name that was found: the arguments of getattr, the value of an assignment."""
        while type(node) is ast.Attribute:
            node = node.value
        if type(node) is not ast.Name:
            self.visit(node)

    def call(self, function, node):
        if function in IMPORTERS:
            name = self.fold(node.args[0]) if node.args else UNKNOWN
            if isinstance(name, str):
                self.add_import(name, node)
            elif node.args or node.keywords:
                self.add("dynamic", function, node)
        elif function in EVALUATORS and node.args:
            self.evaluate(function, node)
        elif function == "getattr" and len(node.args) > 1:
            bases = [base for base in self.resolve(node.args[0]) if base.split(".")[0] not in self.unbound]
            if bases and not isinstance(self.fold(node.args[1]), str):
                self.add("dynamic", function, node)

    def evaluate(self, function, node):
        program = node.args[0]
        if "compile" in (name for name in (self.resolve(program.func) if type(program) is ast.Call else ())):
            return  # has been looked at by itself
        text = self.fold(program)
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if not isinstance(text, str) or self.depth == DEPTH_MAX:
            self.add("dynamic", function, node)
            return
        try:
            tree = ast.parse(text.strip())
        except (SyntaxError, ValueError):
            return  # it fails when it is run
        place, self.place = self.place, self.place or self.place_of(node)
        self.depth += 1
        inner = bound_in(tree.body)
        self.scope.bound.program |= inner.program
        self.scope.bound |= inner
        for child in tree.body:
            self.visit(child)
        self.depth -= 1
        self.place = place


def others(node, fields):
    """What is in a node besides these fields: what no handler knows is visited as any expression is."""
    rest = REST.get((type(node), fields))
    if rest is None:
        rest = REST[type(node), fields] = tuple(field for field in node._fields if field not in fields)
    return children(node, rest) if rest else ()


REST = {}
ARGUMENTS = ("posonlyargs", "args", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "defaults")
ARGUMENT = ("arg", "annotation", "type_comment")
NONE = (None, ())
FUNCTION = ("name", "args", "body", "decorator_list", "returns", "type_comment")
TRY = ("body", "handlers", "orelse", "finalbody")
FOR = ("target", "iter", "body", "orelse", "type_comment")
COMPREHENSION = ("elt", "key", "value", "generators")
# How nodes are visited, and the fields that this looks at; all others are visited besides.
HANDLERS = {
    ast.Import: (Checker.visit_import, ("names",)),
    ast.ImportFrom: (Checker.visit_import_from, ("module", "names", "level")),
    ast.Assign: (Checker.visit_assign, ("targets", "value", "type_comment")),
    ast.AnnAssign: (Checker.visit_assign, ("target", "value", "simple")),
    ast.NamedExpr: (Checker.visit_assign, ("target", "value")),
    ast.AugAssign: (Checker.visit_aug_assign, ("target", "op", "value")),
    ast.If: (Checker.visit_guard, ("test", "body", "orelse")),
    ast.With: (Checker.visit_guard, ("items", "body", "type_comment")),
    ast.For: (Checker.visit_for, FOR),
    ast.AsyncFor: (Checker.visit_for, FOR),
    ast.Try: (Checker.visit_try, TRY),
    ast.FunctionDef: (Checker.visit_function, FUNCTION),
    ast.AsyncFunctionDef: (Checker.visit_function, FUNCTION),
    ast.Lambda: (Checker.visit_lambda, ("args", "body")),
    ast.ClassDef: (Checker.visit_class, ("name", "bases", "keywords", "body", "decorator_list")),
    ast.ListComp: (Checker.visit_comprehension, COMPREHENSION),
    ast.SetComp: (Checker.visit_comprehension, COMPREHENSION),
    ast.GeneratorExp: (Checker.visit_comprehension, COMPREHENSION),
    ast.DictComp: (Checker.visit_comprehension, COMPREHENSION),
    ast.Expr: (Checker.visit_expression_statement, ("value",)),
    ast.Name: (Checker.visit_name, ("id", "ctx")),
    ast.Attribute: (Checker.visit_attribute, ("value", "attr", "ctx")),
    ast.Subscript: (Checker.visit_subscript, ("value", "slice", "ctx")),
    ast.Constant: (Checker.visit_constant, ("value", "kind")),
    ast.Call: (Checker.visit_call, ("func", "args", "keywords")),
    ast.BinOp: (Checker.visit_folded, ("left", "op", "right")),
    ast.JoinedStr: (Checker.visit_folded, ("values",)),
}
if hasattr(ast, "TryStar"):
    HANDLERS[ast.TryStar] = (Checker.visit_try, TRY)


def trees_of(program):
    """The program as a file, and as the text of a cell, where that differs: a cell has no declared encoding."""
    trees, errors = [], []
    has_cookie = any(b"coding" in line for line in program.split(b"\n", 2)[:2])
    for text in (program, program.decode("utf-8", "replace")) if has_cookie else (program,):
        try:
            trees.append(ast.parse(text))
        except (SyntaxError, ValueError) as error:
            errors.append(error)
    if not trees:
        raise errors[0]
    return trees


def check(program, wants_literals=False, wants_missing=False, known=()):
    """Prints what the program, bytes, names, as one line of JSON."""
    try:
        checker = Checker(wants_literals, wants_missing, set(known), program.split(b"\n"))
        checker.has_walrus = b":=" in program or b"exec" in program or b"eval" in program  # or in a string
        for tree in trees_of(program):
            checker.program(tree)
        answer = {"facts": checker.facts, "more": checker.more}
    except SyntaxError as error:
        answer = {"unparsed": f"{type(error).__name__}: {error.msg} (line {error.lineno})"[:200]}
    except ValueError as error:
        answer = {"unparsed": f"{type(error).__name__}: {error}"[:200]}
    except (RecursionError, MemoryError) as error:
        answer = {"unparsed": type(error).__name__}
    sys.stdout.write(json.dumps(answer) + "\n")
