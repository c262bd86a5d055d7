"""The wheel: the programs, which need no Python once they are installed, and the package for Python programs. PEP 427, PEP 600, PEP 656."""

import base64
import hashlib

from forms import archives
from forms.release import COMMAND, EPOCH, NAMES, ROOT, VERSION

# A command with the name of the package too, as `uvx PACKAGE` wants it.
ALIAS = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/{command}" "$@"\n'

# Where frameworks look for what they may use.
ENTRY_POINTS = "[inspect_ai]\ncode_sandbox = code_sandbox.adapters.inspect_ai\n"


def tags(architecture):
    """Static programs run with each C library."""
    return f"py3-none-manylinux_2_17_{architecture}.manylinux2014_{architecture}.musllinux_1_1_{architecture}"


def file_name(architecture):
    return f"{NAMES['pypi'].replace('-', '_')}-{VERSION}-{tags(architecture)}.whl"


def metadata():
    fields = {"Metadata-Version": "2.1", "Name": NAMES["pypi"], "Version": VERSION, "Summary": NAMES["description"],
              "Author": NAMES["author"], "License": NAMES["license"], "Requires-Python": ">=3.9",
              "Description-Content-Type": "text/markdown"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    # The registry of MCP servers looks for this line.
    return f"{head}\n{readme}\nmcp-name: {NAMES['registry']}\n"


def wheel_text(architecture):
    interpreter, abi, platforms = tags(architecture).split("-")
    lines = [f"Tag: {interpreter}-{abi}-{platform}\n" for platform in platforms.split(".")]
    return f"Wheel-Version: 1.0\nGenerator: {COMMAND}\nRoot-Is-Purelib: false\n" + "".join(lines)


def record(members, name):
    lines = []
    for member, content, _ in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{member},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{name},,\n"


def write(output, architecture, tree, notices):
    stem = f"{NAMES['pypi'].replace('-', '_')}-{VERSION}"
    members = archives.Members()
    for source in sorted((ROOT / "packaging" / "python").rglob("*")):
        if source.suffix in (".py", ".typed"):
            members.add(str(source.relative_to(ROOT / "packaging" / "python")), source.read_text(encoding="utf-8"))
    members.add_tree(tree / "bin", f"{stem}.data/scripts/")
    members.add(f"{stem}.data/scripts/{NAMES['pypi']}", ALIAS.format(command=COMMAND), is_program=True)
    for folder in ("libexec", "share/man", "share/bash-completion", "share/zsh", "share/fish"):
        members.add_tree(tree / folder, f"{stem}.data/data/{folder}/")
    members.add(f"{stem}.dist-info/METADATA", metadata())
    members.add(f"{stem}.dist-info/WHEEL", wheel_text(architecture))
    members.add(f"{stem}.dist-info/entry_points.txt", ENTRY_POINTS)
    for name, text in {"LICENSE": (ROOT / "LICENSE").read_text(), **notices}.items():
        members.add(f"{stem}.dist-info/licenses/{name}", text)
    members.add(f"{stem}.dist-info/RECORD", record(members, f"{stem}.dist-info/RECORD"))
    path = output / file_name(architecture)
    path.write_bytes(members.zip(EPOCH))
    return path
