"""Writes a Python program without comments and docstrings: compact.py INPUT [PART...] OUTPUT

The interpreter of a run compiles it. A PART is put in place of the first `from PART import ...`; others go, and those from
INPUT in its parts. One that is no program becomes the text of its bytes in base64, under each of the imported names.
"""
import ast
import base64
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
            body += body_of(part, parts) if part.endswith(".py") else constants_of(part, statement)
    return body


def constants_of(path, statement):
    text = base64.b64encode(pathlib.Path(path).read_bytes()).decode("ascii")
    return ast.parse("\n".join(f"{alias.name} = {text!r}" for alias in statement.names)).body


source, *parts, target = sys.argv[1:]
body = body_of(source, {**{pathlib.Path(it).stem: it for it in parts}, pathlib.Path(source).stem: None})
with open(target, "w", encoding="ascii") as file:
    file.write("\n".join(ast.unparse(statement) for statement in body) + "\n")
