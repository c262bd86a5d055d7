"""Turns a file into a C header with its bytes: embed.py INPUT OUTPUT NAME.

A string, which compilers and analyzers read many times faster than a list of numbers.
"""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
ESCAPED = {ord("\n"): r"\n", ord('"'): r'\"', ord("\\"): r"\\", ord("?"): r"\?"}  # ??= is a trigraph
PLAIN = range(ord(" "), ord("~") + 1)
characters = [ESCAPED.get(byte, chr(byte) if byte in PLAIN else f"\\{byte:03o}") for byte in data]
lines = ["".join(characters[start:start + 72]) for start in range(0, len(data), 72)]
with open(target, "w", encoding="ascii") as file:
    file.write(f"/* Without a final NUL. */\nstatic const char {name}[{len(data)}] =\n"
               + "\n".join(f'    "{line}"' for line in lines) + ";\n")
