"""The npm packages: one with the programs for each architecture, and one that starts the right one."""

import json
import pathlib

from forms import archives
from forms.release import COMMAND, EPOCH, NAMES, NPM_CPUS, PROGRAMS, ROOT, VERSION, npm_name

HERE = pathlib.Path(__file__).resolve().parent


def as_json(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def common(name):
    return {"name": name, "version": VERSION, "description": NAMES["description"], "license": NAMES["license"],
            "author": NAMES["author"]}


def file_name(name):
    """As `npm pack` calls the file."""
    return f"{name.removeprefix('@').replace('/', '-')}-{VERSION}.tgz"


def write(output, name, manifest, members):
    members.add("package/package.json", as_json({**common(name), **manifest}))
    members.add("package/LICENSE", (ROOT / "LICENSE").read_bytes())
    path = output / file_name(name)
    path.write_bytes(members.tar_gz(EPOCH))
    return path


def write_main(output):
    """No script at installation: npm chooses the package of the architecture by `os` and `cpu`."""
    members = archives.Members()
    members.add("package/start.cjs", (HERE / "start.cjs").read_bytes(), is_program=True)
    members.add("package/README.md", (ROOT / "README.md").read_bytes())
    manifest = {"mcpName": NAMES["registry"], "bin": {COMMAND: "start.cjs"}, "engines": {"node": ">=18"},
                "optionalDependencies": {npm_name(architecture): VERSION for architecture in NPM_CPUS},
                "keywords": ["mcp", "sandbox", "code-interpreter"]}
    return write(output, NAMES["npm"], manifest, members)


def write_programs(output, architecture, tree, notices):
    """No `libc`: the programs are static."""
    members = archives.Members()
    for folder in PROGRAMS:
        members.add_tree(tree / folder, f"package/{folder}/")
    for name, text in notices.items():
        members.add(f"package/licenses/{name}", text)
    name = npm_name(architecture)
    return write(output, name, {"os": ["linux"], "cpu": [NPM_CPUS[architecture]], "preferUnplugged": True}, members)
