"""What a machine can say about the source: lint.py BUILD [REPORT]

Every check is a function that yields complaints; none is a pass. REPORT is a JUnit file.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    ".ci", ".clang-format", ".clang-tidy", ".git", ".gitignore", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "README.md", "SECURITY.md", "images", "mcp", "meson.build", "sandbox",
    "seccomp-profiles", "tests",
}
FOLDERS = ("mcp", "images", "sandbox", "seccomp-profiles", "tests")
FILE_LINES_MAX = 500
# Which folders a file of a folder may include from, the folder itself aside.
SANDBOX = ("sandbox", "sandbox/limits", "sandbox/base")
LAYERS = {
    "mcp": ("mcp/cli", "mcp/tools", "mcp/settings", "mcp/base", "images/store", *SANDBOX),
    "mcp/cli": ("mcp", "mcp/tools", "mcp/settings", "mcp/base", "images/store", *SANDBOX),
    "mcp/tools": ("mcp/settings", "mcp/base", "images/store", *SANDBOX),
    "mcp/settings": ("mcp/base", "images/store", "sandbox/jail", *SANDBOX),
    "mcp/base": SANDBOX,
    "images": ("images/build", "images/registry", "images/unpack", "images/store", "images/base",
               "sandbox/jail", "sandbox/base"),
    "images/build": ("images/registry", "images/unpack", "images/store", "images/base",
                     "sandbox/jail", "sandbox/base"),
    "images/registry": ("images/unpack", "images/store", "images/base", "sandbox/base"),
    "images/unpack": ("images/store", "images/base", "sandbox/jail", "sandbox/base"),
    "images/store": ("images/base", "sandbox/jail", "sandbox/base"),
    "images/base": ("sandbox/base",),
    "sandbox": ("sandbox/jail", "sandbox/jail/child", "sandbox/limits", "sandbox/base"),
    "sandbox/jail": ("sandbox/jail/child", "sandbox/limits", "sandbox/base", "seccomp-profiles"),
    "sandbox/jail/child": (),
    "sandbox/limits": ("sandbox/base",),
    "sandbox/scope": ("sandbox/base",),
    "sandbox/base": (),
}
# Headers for the other files of their folder only.
PRIVATE = ("sandbox/limited_sandbox.h", "sandbox/run.h", "sandbox/run_files.h", "sandbox/warm_pool.h")


def sources(*suffixes):
    """Files of ours with these suffixes, without what was built."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = parts[0] == ".git" or parts[0].startswith("build") or "node_modules" in parts
        if path.suffix in suffixes and path.is_file() and not hidden:
            yield path


def name_of(path):
    return str(path.relative_to(ROOT))


def output_of(*command):
    """What a checker printed if it objected, as lines."""
    done = subprocess.run(command, cwd=ROOT, text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        yield from done.stdout.splitlines() or [f"{command[0]} failed"]


def check_formatting(_build):
    yield from output_of("clang-format-19", "--dry-run", "-Werror", *sources(".c", ".h"))


def check_static_analysis(build):
    """clang-tidy over each compiled file, as many at once as there are processors.

    Not over the unit tests: the analyzer does not know that cmocka's assertions do not return.
    """
    compiled = {entry["file"] for entry in json.loads((build / "compile_commands.json").read_text())}
    files = [path for path in sources(".c")
             if os.path.relpath(path, build) in compiled and not name_of(path).startswith("tests/")]
    if not files:
        yield f"no compiled file found in {build}/compile_commands.json"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(lambda file: list(output_of(
            "clang-tidy-19", "--quiet", "--warnings-as-errors=*", "-p", build, file)), file)
            for file in files]
        for job in jobs:
            yield from (line for line in job.result() if not line.endswith(" warnings generated."))


def check_shell(_build):
    scripts = [path for path in [*(ROOT / ".ci").iterdir(), *sources(".sh")]
               if path.is_file() and path.read_bytes().startswith(b"#!/bin/sh")]
    yield from output_of("shellcheck", *scripts)


def check_python(_build):
    yield from output_of("pyflakes3", *sources(".py"))


def check_child_symbols(build):
    """The half after clone3 calls nothing but what sandbox/jail/child/allowed-symbols lists."""
    listed = (ROOT / "sandbox" / "jail" / "child" / "allowed-symbols").read_text().splitlines()
    allowed = {line.split("#")[0].strip() for line in listed} - {""}
    archives = list((build / "sandbox" / "jail" / "child").glob("*.a"))
    if not archives:
        yield f"no library of the child below {build}"
    for archive in archives:
        symbols = subprocess.run(["nm", archive], text=True, capture_output=True, check=True)
        rows = [line.split() for line in symbols.stdout.splitlines() if line.strip()]
        defined = {row[2] for row in rows if len(row) == 3}
        wanted = {row[1] for row in rows if len(row) == 2 and row[0] in "Uwv"}
        for symbol in sorted(wanted - defined - allowed):
            yield f"{archive.name} uses {symbol}, which sandbox/jail/child/allowed-symbols does not allow"


def check_layers(_build):
    """Includes point down, as LAYERS has it."""
    for path in sources(".c", ".h"):
        folder = name_of(path.parent)
        if folder.split("/")[0] not in ("mcp", "images", "sandbox"):
            continue
        if folder not in LAYERS:
            yield f"{folder} has no row in LAYERS of tests/lint.py"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "(([^"]+)/[^"/]+)"', line)
            if match and match[2] not in (folder, *LAYERS[folder]):
                yield f"{name_of(path)}:{number}: {folder} may not include from {match[2]}"
            if match and match[1] in PRIVATE and match[2] != folder:
                yield f"{name_of(path)}:{number}: {match[1]} is private to its folder"


def check_documents(_build):
    """Functions and files that the documents name are there."""
    source = "\n".join(path.read_text() for path in sources(".c", ".h", ".py"))
    for document in sorted(ROOT.glob("*.md")):
        text = document.read_text()
        for function in sorted(set(re.findall(r"\b([a-z]\w*_\w*)\(\)", text))):
            if not re.search(rf"^[a-z].*\b{function}\(", source, re.MULTILINE):
                yield f"{document.name} names {function}(), which is nowhere defined"
        for file in sorted(set(re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", text))):
            if not (ROOT / file).exists() and "NAME" not in file:
                yield f"{document.name} names {file}, which is not there"


def check_sizes(_build):
    for path in sources(".c", ".h", ".py", ".mjs", ".js"):
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES_MAX:
            yield f"{name_of(path)} has {lines} lines, more than {FILE_LINES_MAX}: perhaps two files"


def check_top_level(_build):
    for path in sorted(ROOT.iterdir()):
        if path.name not in TOP_LEVEL and not path.name.startswith("build"):
            yield f"{path.name}: the top level holds {', '.join(sorted(TOP_LEVEL))}, nothing else"


CHECKS = (check_top_level, check_layers, check_sizes, check_documents, check_child_symbols,
          check_shell, check_python, check_formatting, check_static_analysis)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    suite = xml.etree.ElementTree.Element("testsuite", name="lint")
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        case = xml.etree.ElementTree.SubElement(suite, "testcase", name=name)
        complaints = list(check(build))
        print(f"{'FAILED' if complaints else 'ok':6}  {name}", *complaints, sep="\n        ",
              flush=True)
        if complaints:
            xml.etree.ElementTree.SubElement(case, "failure", message="; ".join(complaints[:3]))
    failed = len(suite.findall("testcase/failure"))
    if len(sys.argv) > 2:
        xml.etree.ElementTree.ElementTree(suite).write(sys.argv[2])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
