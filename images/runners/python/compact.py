"""Writes a Python program without comments and docstrings: compact.py INPUT [PART...] OUTPUT

The interpreter of a run compiles it. A PART is put in place of `from PART import ...`.
"""
import ast
import pathlib
import sys


def without_docstrings(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and \
                isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body[:] = body[1:] or [ast.Pass()]
    return tree


def body_of(path, parts):
    body = []
    for statement in without_docstrings(ast.parse(pathlib.Path(path).read_text(encoding="utf-8"))).body:
        part = parts.pop(statement.module, None) if isinstance(statement, ast.ImportFrom) else None
        body += body_of(part, parts) if part else [statement]
    return body


source, *parts, target = sys.argv[1:]
body = body_of(source, {pathlib.Path(it).stem: it for it in parts})
with open(target, "w", encoding="ascii") as file:
    file.write("\n".join(ast.unparse(statement) for statement in body) + "\n")
