"""Turns a file into a C header with its bytes: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()

# A number above 127 would be narrowed where char is signed.
constants = [f"0x{byte:02x}," if byte < 128 else f"'\\x{byte:02x}'," for byte in data]
lines = [
    "    " + " ".join(constants[start:start + 16])
    for start in range(0, len(data), 16)
]
with open(target, "w", encoding="ascii") as file:
    file.write(f"static const char {name}[] = {{\n" + "\n".join(lines) + "\n};\n")
