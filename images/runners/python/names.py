"""What an expression of a program may stand for: a part of check.py."""
import ast
import builtins

from modules import member, members

VALUES_MAX = 16
BUILTINS = frozenset(dir(builtins))
IMPORTERS = {"__import__", "importlib.import_module", "importlib.__import__", "runpy.run_module", "pkgutil.resolve_name"}
NAMESPACES = {"globals", "locals", "vars"}


class Names:
    """For a class with the scopes and the constants of a program: check.py, constants.py."""

    def look_up(self, name):
        scope = self.scope if name not in self.scope.bound.program else self.scope_of(name)
        while scope is not None:
            if name in scope.bound:
                if name not in scope.values:
                    self.early[scope.node, name] = scope
                return scope.values.get(name, ())
            scope = scope.parent
            while scope is not None and scope.is_class:
                scope = scope.parent
        self.early[None, name] = self.outermost
        if name in BUILTINS:
            return (name,)
        if not self.scope.stars:
            self.unbound.add(name)
        return tuple(f"{module}.{name}" for module in self.scope.stars) or (name,)

    def scope_of(self, name):
        scope = self.scope
        is_program = name in scope.bound.program
        while scope.parent is not None and (is_program or name not in scope.bound):
            scope = scope.parent
            is_program = is_program or name in scope.bound.program and name not in scope.bound
        return scope

    def resolve(self, node):
        if type(node) is ast.Name:
            return self.look_up(node.id)
        found = self.resolved.get(node)
        if found is None:
            found = self.resolved[node] = self.resolve_anew(node)[:VALUES_MAX]
        return found

    def resolve_anew(self, node):
        kind = type(node)
        if kind is ast.Attribute:
            return sum([members(base, node.attr, self.unbound) for base in self.resolve(node.value)], ())
        if kind is ast.Call:
            return self.resolve_call(node, self.resolve(node.func))
        if kind is ast.Subscript:
            return self.resolve_subscript(node)
        if kind is ast.NamedExpr or kind is ast.Await:
            return self.resolve(node.value)
        if kind is ast.IfExp:
            return self.resolve(node.body) + self.resolve(node.orelse)
        if kind in (ast.BoolOp, ast.Dict):
            return sum([self.resolve(value) for value in node.values], ())
        if kind in (ast.List, ast.Tuple):
            return sum([self.resolve(value) for value in node.elts], ())
        return ()

    def resolve_call(self, node, functions):
        if not node.args:
            return tuple(f"{name}()" for name in functions if name in NAMESPACES)
        found = []
        for function in functions:
            if function in IMPORTERS:
                name = self.fold(node.args[0])
                if isinstance(name, str) and name:
                    whole = function != "__import__" or len(node.args) > 3 or node.keywords
                    found.append(name if whole else name.split(".")[0])
            elif function == "getattr" and len(node.args) > 1:
                name = self.fold(node.args[1])
                if isinstance(name, str):
                    found += [member(base, name) for base in self.resolve(node.args[0])]
            elif function == "vars":
                found += [f"{base}.__dict__" for base in self.resolve(node.args[0])]
            elif function in ("functools.partial", "importlib.reload", "staticmethod", "classmethod"):
                found += self.resolve(node.args[0])
            elif function.endswith(".__getattribute__") or function.endswith(".__dict__.get"):
                name = self.fold(node.args[-1 if function.endswith("__getattribute__") else 0])
                base = function.rsplit(".__", 1)[0]
                if isinstance(name, str):
                    found.append(member(base, name))
            elif function in ("sys.modules.get", "sys.modules.__getitem__"):
                name = self.fold(node.args[0])
                if isinstance(name, str):
                    found.append(name)
        if type(node.func) is ast.Call and self.resolve(node.func.func) == ("operator.attrgetter",) and node.func.args:
            name = self.fold(node.func.args[0])
            if isinstance(name, str):
                found += [member(base, name) for base in self.resolve(node.args[0])]
        return tuple(found)

    def resolve_subscript(self, node):
        if type(node.value) in (ast.Dict, ast.List, ast.Tuple):
            return self.resolve(node.value)  # any of them
        found, key = [], self.fold(node.slice)
        for base in self.resolve(node.value):
            if not isinstance(key, str):
                continue
            if base == "sys.modules":
                found.append(key)
            elif base.endswith(".__dict__"):
                found.append(member(base.removesuffix(".__dict__"), key))
            elif base in ("globals()", "locals()", "vars()"):
                found += self.look_up(key)
            elif base == "__builtins__":
                found.append(key)
        return tuple(found)
