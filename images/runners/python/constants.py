"""What an expression of a program is, as far as it consists of constants: a part of check.py."""
import ast
import base64
import builtins
import codecs
import re

FOLDED_MAX = 1 << 16
FOLDS_MAX = 100_000  # steps, for a whole program
UNKNOWN = object()
METHODS = {"lower", "upper", "strip", "lstrip", "rstrip", "replace", "title", "swapcase", "removeprefix", "removesuffix",
           "zfill", "casefold", "capitalize"}


class Constants:
    """For a class that has scope_of(NAME), with the constants of a scope, and resolve(NODE), the names of an expression."""

    def __init__(self):
        self.folds = 0

    def fold(self, node):
        try:
            value = self.fold_value(node)
        except Exception:  # what would fail in the program, too
            return UNKNOWN
        return UNKNOWN if isinstance(value, (str, bytes, list)) and len(value) > FOLDED_MAX else value

    def fold_value(self, node):
        self.folds += 1
        if self.folds > FOLDS_MAX:
            return UNKNOWN
        kind = type(node)
        if kind is ast.Constant:
            return node.value
        if kind is ast.Name:
            scope = self.scope_of(node.id)
            return scope.constants.get(node.id, UNKNOWN)
        if kind in (ast.List, ast.Tuple):
            return [self.known_value(element) for element in node.elts]
        if kind is ast.JoinedStr:
            return "".join(self.known_value(part.value if type(part) is ast.FormattedValue else part).__str__() for part in node.values)
        if kind is ast.BinOp and type(node.op) is ast.Add:
            return self.fold_sum(node)
        if kind is ast.BinOp:
            left, right = self.known_value(node.left), self.known_value(node.right)
            if type(node.op) is ast.Mod and isinstance(left, str) and re.search(r"[0-9]{4}|[*]", left):
                return UNKNOWN
            if type(node.op) is ast.Mod and isinstance(left, (str, int)):
                return left % (tuple(right) if isinstance(right, list) else right)
            if type(node.op) is ast.Mult and isinstance(left, (str, int)) and isinstance(right, (str, int)):
                count = right if isinstance(right, int) else left
                return left * right if -FOLDED_MAX < count < FOLDED_MAX else UNKNOWN
            return left - right if type(node.op) is ast.Sub else left ^ right if type(node.op) is ast.BitXor else UNKNOWN
        if kind is ast.UnaryOp and type(node.op) is ast.USub:
            return -self.known_value(node.operand)
        if kind is ast.Subscript:
            return self.fold_subscript(node)
        if kind is ast.Call:
            return self.fold_call(node)
        return UNKNOWN

    def fold_sum(self, node):
        """From left to right, however long it is."""
        rest = []
        while type(node) is ast.BinOp and type(node.op) is ast.Add:
            rest.append(node.right)
            node = node.left
        value = self.known_value(node)
        for other in reversed(rest):
            value += self.known_value(other)
            if isinstance(value, (str, bytes)) and len(value) > FOLDED_MAX:
                return UNKNOWN
        return value

    def known_value(self, node):
        value = self.fold_value(node)
        if value is UNKNOWN or (isinstance(value, (str, bytes, list)) and len(value) > FOLDED_MAX):
            raise ValueError
        return value

    def fold_subscript(self, node):
        value = self.known_value(node.value)
        if type(node.slice) is ast.Slice:
            parts = node.slice.lower, node.slice.upper, node.slice.step
            return value[slice(*(None if part is None else self.known_value(part) for part in parts))]
        return value[self.known_value(node.slice)]

    def fold_call(self, node):
        arguments = [self.known_value(argument) for argument in node.args]
        if type(node.func) is ast.Attribute:
            return self.fold_method(node, arguments)
        [name] = self.resolve(node.func)
        if name in ("bytes", "bytearray") and arguments and isinstance(arguments[0], int):
            return UNKNOWN
        if name in ("chr", "str", "ord", "bytes", "bytearray", "list", "tuple", "int"):
            value = getattr(builtins, name)(*arguments)
            return list(value) if name in ("list", "tuple") else bytes(value) if name == "bytearray" else value
        if name == "reversed":
            return list(reversed(*arguments))
        return UNKNOWN

    def fold_method(self, node, arguments):
        names = self.resolve(node.func)
        if names:
            decoders = {"base64.b64decode": base64.b64decode, "base64.b32decode": base64.b32decode,
                        "base64.b16decode": base64.b16decode, "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
                        "binascii.unhexlify": bytes.fromhex, "binascii.a2b_base64": base64.b64decode,
                        "bytes.fromhex": bytes.fromhex, "bytearray.fromhex": bytes.fromhex, "str.lower": str.lower,
                        "codecs.decode": codecs.decode}
            return decoders[names[0]](*arguments)
        value, method = self.known_value(node.func.value), node.func.attr
        if any(isinstance(argument, int) and argument > FOLDED_MAX for argument in arguments) or \
                (method == "format" and re.search(r"[0-9]{4}|\{[^}]*\{", str(value))) or \
                (method in ("replace", "translate") and len(value) * max((len(str(argument)) for argument in arguments), default=0) > FOLDED_MAX * 16):
            return UNKNOWN
        if isinstance(value, str) and method == "join":
            return value.join(arguments[0])
        if isinstance(value, str) and (method in METHODS or method in ("format", "split", "encode", "translate")):
            return getattr(value, method)(*arguments)
        if isinstance(value, bytes) and method in ("decode", "hex"):
            return getattr(value, method)(*arguments)
        return UNKNOWN
