"""Makes the header of the languages that are built in: embed.py NAME.json... OUTPUT"""
import json
import pathlib
import sys

*sources, target = map(pathlib.Path, sys.argv[1:])


def lines_of(source):
    """As C string literals, one for each line. Letters beyond ASCII have their escapes of JSON."""
    text = json.dumps(json.loads(source.read_text(encoding="utf-8")), indent=1)
    return "\n".join("     " + json.dumps(line + "\n").replace("?", "\\?") for line in text.splitlines())


rows = [f'    {{"{source.name}",\n{lines_of(source)}}},\n' for source in sources]
target.write_text("static const struct {\n    const char *name, *text;\n} built_in_languages[] = {\n" + "".join(rows) + "};\n",
                  encoding="ascii")
