"""Compiles start.py in advance, for the versions of Python where that is known:

    bytecode.py make START PYTHON...      prints start.bytecode; each PYTHON is an interpreter, one a version
    bytecode.py embed START BYTECODE OUT  writes a C header with it; fails if START has changed since

Bytecode is the same for all releases of one version. Where there is none, Python compiles the program.
The header has the place of a constant of the program, which is for the server to fill in.
"""
import base64
import hashlib
import pathlib
import subprocess
import sys
import textwrap

HEAD = "# start.py for each version of Python, as a file .pyc in base64: written by bytecode.py\n"
# Of no file: it would be another one in each version, and stand in what profilers print.
COMPILE = """
import importlib.util, marshal, sys
code = compile(sys.stdin.read(), "<string>", "exec", dont_inherit=True, optimize=2)
sys.stdout.buffer.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""
CONSTANT = b"@figures@"
NAME = "import sys; print('%d.%d' % sys.version_info[:2])"


def compiled_by(python, start):
    """The version of an interpreter, and the file."""
    version = subprocess.run([python, "-c", NAME], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    return version, subprocess.run([python, "-c", COMPILE], input=start, stdout=subprocess.PIPE, check=True).stdout


def read(text):
    """{version: bytes}, and the hash of the source."""
    words = "".join(line for line in text.splitlines(True) if line[0] != "#").split("\n\n")
    digest, *rows = (word.split() for word in words)
    return {row[0]: base64.b64decode("".join(row[1:])) for row in rows}, digest[1]


def make(start, *pythons):
    source = pathlib.Path(start).read_bytes()
    print(HEAD + "source", hashlib.sha256(source).hexdigest())
    for python in pythons:
        version, file = compiled_by(python, source)
        print(f"\n{version}\n" + "\n".join(textwrap.wrap(base64.b64encode(file).decode(), 96)))


def parts_of(file):
    """What comes before the length and the bytes of the constant, and after: source of marshal, TYPE_STRING."""
    head, tail = file.split(len(CONSTANT).to_bytes(4, "little") + CONSTANT)
    if head[-1] & 0x7f != ord("s"):
        raise SystemExit(f"{CONSTANT} is not bytes")
    return head, tail


def literal(data):
    text = "".join(f"\\x{byte:02x}" for byte in data)
    return "\n     ".join(f'"{text[at:at + 88]}"' for at in range(0, len(text), 88))


def embed(start, bytecode, out):
    files, digest = read(pathlib.Path(bytecode).read_text(encoding="ascii"))
    if digest != hashlib.sha256(pathlib.Path(start).read_bytes()).hexdigest():
        raise SystemExit(f"{start} has changed since {bytecode} was made: run bytecode.py make")
    lines = ["struct start_bytecode {", "    const char *version;",
             "    size_t head_length;", "    const char *head;",
             "    size_t tail_length;", "    const char *tail;", "};",
             "static const struct start_bytecode start_bytecodes[] = {"]
    for version, file in files.items():
        head, tail = parts_of(file)
        lines.append(f'    {{"python{version}", {len(head)}, {literal(head)}, {len(tail)}, {literal(tail)}}},')
    pathlib.Path(out).write_text("\n".join([*lines, "};\n"]), encoding="ascii")


if __name__ == "__main__":
    {"make": make, "embed": embed}[sys.argv[1]](*sys.argv[2:])
