"""Makes one program of CommonJS modules: bundle.py OUTPUT MAIN MODULE...

MAIN comes from the same directory as the modules; any of them requires another by its path relative to that.
"""
import os
import sys

target, main, *modules = sys.argv[1:]
directory = os.path.dirname(main)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().rstrip() + "\n"


with open(target, "w", encoding="utf-8") as file:
    file.write("'use strict';\nconst bundled = {\n")
    for path in modules:
        name = "./" + os.path.relpath(path, directory)
        licence = os.path.join(os.path.dirname(path), "LICENSE")
        if os.path.exists(licence):
            file.write(f"/*\n{text_of(licence)}*/\n")
        file.write(f"'{name}'(module, exports, require) {{\n{text_of(path)}}},\n")
    file.write("""};
const loaded = {};
function requireBundled(name) {
  if (!(name in bundled)) return require(name);
  if (!(name in loaded)) {
    const module = { exports: {} };
    loaded[name] = module;
    bundled[name](module, module.exports, requireBundled);
  }
  return loaded[name].exports;
}
""")
    file.write("(function (require) {\n" + text_of(main) + "})(requireBundled);\n")
