"""Writes a Python program without comments and docstrings: compact.py INPUT OUTPUT

The interpreter of a run compiles it.
"""
import ast
import sys


def without_docstrings(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and \
                isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body[:] = body[1:] or [ast.Pass()]
    return tree


source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    tree = without_docstrings(ast.parse(file.read()))
with open(target, "w", encoding="ascii") as file:
    file.write("\n".join(ast.unparse(statement) for statement in tree.body) + "\n")
