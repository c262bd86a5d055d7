"""The npm packages: one with the programs for each architecture, and one that starts the right one.

For a release, npm finds the former in its registry. Until both are there, the names are anybody's, so that a
package from a file must bring its programs along: the bundled one.
"""

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


def bundled_file_name(architecture):
    return file_name(npm_name(architecture)).replace(".tgz", "-bundled.tgz")


def write(output, file, members):
    path = output / file
    path.write_bytes(members.tar_gz(EPOCH))
    return path


def add_package(members, folder, name, manifest):
    members.add(f"{folder}/package.json", as_json({**common(name), **manifest}))
    members.add(f"{folder}/LICENSE", (ROOT / "LICENSE").read_bytes())


def add_main(members, architectures, **further):
    """No script at installation: npm chooses the package of the architecture by `os` and `cpu`."""
    members.add("package/start.cjs", (HERE / "start.cjs").read_bytes(), is_program=True)
    members.add("package/README.md", (ROOT / "README.md").read_bytes())
    manifest = {"mcpName": NAMES["registry"], "bin": {COMMAND: "start.cjs"}, "engines": {"node": ">=18"},
                "optionalDependencies": {npm_name(architecture): VERSION for architecture in architectures},
                "keywords": ["mcp", "sandbox", "code-interpreter"], **further}
    add_package(members, "package", NAMES["npm"], manifest)


def add_programs(members, folder, architecture, tree, notices):
    """No `libc`: the programs are static."""
    for part in PROGRAMS:
        members.add_tree(tree / part, f"{folder}/{part}/")
    for name, text in notices.items():
        members.add(f"{folder}/licenses/{name}", text)
    add_package(members, folder, npm_name(architecture),
                {"os": ["linux"], "cpu": [NPM_CPUS[architecture]], "preferUnplugged": True})


def write_main(output):
    members = archives.Members()
    add_main(members, NPM_CPUS)
    return write(output, file_name(NAMES["npm"]), members)


def write_programs(output, architecture, tree, notices):
    members = archives.Members()
    add_programs(members, "package", architecture, tree, notices)
    return write(output, file_name(npm_name(architecture)), members)


def write_bundled(output, architecture, tree, notices):
    """For installation from a file: npm asks no registry for anything."""
    name = npm_name(architecture)
    members = archives.Members()
    add_main(members, [architecture], bundleDependencies=[name])
    add_programs(members, f"package/node_modules/{name}", architecture, tree, notices)
    return write(output, bundled_file_name(architecture), members)
