"""Writes a Python program without comments and docstrings: compact.py INPUT [PART...] OUTPUT

The interpreter of a run compiles it. A PART is put in place of the first `from PART import ...`; others go.
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
        is_part = isinstance(statement, ast.ImportFrom) and statement.module in parts
        if not is_part:
            body.append(statement)
        elif parts[statement.module]:
            part, parts[statement.module] = parts[statement.module], None
            body += body_of(part, parts)
    return body


source, *parts, target = sys.argv[1:]
body = body_of(source, {pathlib.Path(it).stem: it for it in parts})
with open(target, "w", encoding="ascii") as file:
    file.write("\n".join(ast.unparse(statement) for statement in body) + "\n")
