"""What tests change in a copy of the source stands there exactly once, so that they find it when they run, which may be days later."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = (".c", ".h", ".json", ".py", ".js", ".sh")


def text_of(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def source_of(node, names):
    """The path below ROOT that an expression is, if it names one."""
    text = text_of(node) or (names.get(node.id) if isinstance(node, ast.Name) else None)
    return text if text and "/" in text and text.endswith(SOURCES) and (ROOT / text).is_file() else None


def changes_in(path):
    """(line, source, what stands there, what stands there instead) of each change of the source that a test makes."""
    tree = ast.parse(path.read_text())
    names = {target.id: text_of(node.value) for node in tree.body if isinstance(node, ast.Assign)
             for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        parts = node.elts if isinstance(node, ast.Tuple) else []
        for place, part in enumerate(parts[:-2]):
            texts = [text_of(after) for after in parts[place + 1:place + 3]]
            if source_of(part, names) and None not in texts and not (ROOT / texts[0]).is_file():
                yield (node.lineno, source_of(part, names), *texts)


CHANGES = [(path.relative_to(ROOT), *change) for path in sorted((ROOT / "tests").rglob("*.py")) for change in changes_in(path)]


def test_the_changes_are_seen():
    assert len(CHANGES) > 70 and len({change[0] for change in CHANGES}) >= 3


@pytest.mark.parametrize("test", sorted({str(change[0]) for change in CHANGES}))
def test_each_change_finds_its_place(test):
    lost = []
    for path, line, source, there, instead in CHANGES:
        text = (ROOT / source).read_text()
        if str(path) == test and text.count(there) != 1 and not (instead not in there and text.count(instead)):
            lost.append(f"{path}:{line}: {source} does not have exactly one {there!r}")
    assert not lost, "\n".join(lost)
