"""Automatic checks of the source: lint.py [--quick | --slow] BUILD [REPORT]

Every check is a function that yields complaints; none is a pass. REPORT is a JUnit file. --quick leaves
out the static analysis, and every check whose tool is not installed; --slow is the static analysis alone.
Only files that git tracks are judged, where git knows the tree.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    ".ci", ".clang-format", ".clang-tidy", ".git", ".gitignore", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "README.md", "SECURITY.md", "cli", "docs", "fleet", "images", "interpreter", "mcp", "meson.build",
    "meson_options.txt", "packaging", "sandbox", "seccomp-profiles", "tests",
}
PRODUCT = ("cli", "fleet", "images", "interpreter", "mcp", "sandbox")
FOLDERS = (*PRODUCT, "seccomp-profiles", "packaging", "tests")
FILE_LINES_MAX = 700
OF_OTHERS = ("images/runners/javascript/acorn/",)  # kept as published
PAGE_LINES_MAX, FRONT_PAGES_LINES_MAX, README_WORDS_MAX = 300, {"README.md": 130, "SECURITY.md": 220}, 1300
PRONOUNS = {"who", "which", "what", "that"}
PRONOUNS_MAX = 2.0  # of each 100 words
# Endings of files, whatever snippets left there; the parameter "shell"; the command.
OF_ALL_LANGUAGES = ("interpreter/files/media_type.c", "mcp/extension/exec_words.c", "cli/command_shell.c")
# What musl declares since 1.2.5, and what is compiled for glibc only (meson.build has the other unit).
OF_NEWER_MUSL, OF_GLIBC = {"statx", "preadv2"}, ("sandbox/base/heap.c",)
# Constants and formats, without a library behind them.
OF_ALL_FOLDERS = ("interpreter/base/bounds.h", "sandbox/base/owned.h", "sandbox/base/run_paths.h", "sandbox/limits/limits.h",
                  "sandbox/network/link.h")
# Headers for the other files of their folder only.
PRIVATE = ("sandbox/cell.h", "sandbox/cell_result.h", "sandbox/limited_sandbox.h",
           "sandbox/run.h", "sandbox/run_end.h", "sandbox/run_files.h", "sandbox/run_state.h",
           "sandbox/session_link.h", "sandbox/session_state.h", "sandbox/stdin_pump.h")


def tracked():
    """The files of ours: those that git tracks; where it knows nothing, all but what was built."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
                                capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return sorted(path for name in listed.stdout.split("\0")[:-1] if (path := ROOT / name).is_file())
    return sorted(path for path in ROOT.rglob("*") if path.is_file() and "node_modules" not in path.parts and
                  not re.match(r"\.git$|build", path.relative_to(ROOT).parts[0]))


def sources(*suffixes):
    """Files of ours with these suffixes."""
    return [path for path in tracked() if path.suffix in suffixes]


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
    scripts = [path for path in tracked() if (path.parent == ROOT / ".ci" or path.suffix == ".sh") and
               path.read_bytes().startswith(b"#!/bin/sh")]
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


def includes():
    """(file, line, folder, header) of each #include of a header of the product, in the product."""
    headers = {name_of(path) for path in sources(".h", ".def")}
    for path in sources(".c", ".h", ".def"):
        folder = name_of(path.parent)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if match and match[1] in headers and {folder.split("/")[0], match[1].split("/")[0]} <= set(PRODUCT):
                yield path, number, folder, match[1]


def library_folders():
    """Each folder with a meson.build, and the folders whose libraries it may use: those of its dependencies, and theirs."""
    texts = {name_of(path.parent): re.sub(r"'[^'\n]*'|#.*", "", path.read_text()) for path in tracked()
             if path.name == "meson.build" and name_of(path).split("/")[0] in PRODUCT}
    homes = {name: folder for folder, text in texts.items() for name in re.findall(r"^ *(\w+) = (?:declare_dependency|files)\(", text, re.M)}
    uses = {folder: {homes[name] for name in re.findall(r"\w+", text) if name in homes} | {folder} for folder, text in texts.items()}
    while (more := {folder: set().union(*(uses[used] for used in known)) for folder, known in uses.items()}) != uses:
        uses = more
    return uses


def check_layers(_build):
    """Includes follow the libraries that meson.build links, and are in no circle of folders."""
    uses, graph = library_folders(), collections.defaultdict(set)

    def home_of(folder):
        while folder not in uses:
            folder = folder.rpartition("/")[0]
        return folder
    for path, number, folder, header in includes():
        other = header.rpartition("/")[0]
        graph[folder].add(other)
        if home_of(other) not in uses[home_of(folder)] and header not in OF_ALL_FOLDERS:
            yield f"{name_of(path)}:{number}: the library of {folder} does not use that of {other}"
        if header in PRIVATE and other != folder:
            yield f"{name_of(path)}:{number}: {header} is private to its folder"
    for group in cycles({folder: others - {folder} for folder, others in graph.items()}):
        yield f"a circle of folders: {', '.join(group)}"


def include_graph():
    """The units (x.c with x.h) of the product, each with those that it includes."""
    graph = {}
    for path in sources(".c", ".h"):
        unit = name_of(path.with_suffix(""))
        if unit.split("/")[0] in PRODUCT:
            included = re.findall(r'^#include "([^"]+)\.h"', path.read_text(), re.MULTILINE)
            graph.setdefault(unit, set()).update(set(included) - {unit})
    return graph


def cycles(graph):
    """The strongly connected components of more than one node, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def check_include_cycles(_build):
    """No unit of the product includes itself by way of others."""
    for cycle in cycles(include_graph()):
        yield f"a cycle of {len(cycle)} units: {', '.join(cycle)}"


def check_names(_build):
    """No two files of the product have one name, and no two structs, unions and enums, those of single files included."""
    files, tags = collections.defaultdict(set), collections.defaultdict(set)
    for path in sources(".c", ".h"):
        if name_of(path).split("/")[0] not in PRODUCT:
            continue
        files[path.name].add(name_of(path))
        for tag in re.findall(r"^(?:typedef )?(?:struct|union|enum) (\w+) \{", path.read_text(), re.MULTILINE):
            tags[tag].add(name_of(path))
    for name, places in sorted({**files, **tags}.items()):
        if len(places) > 1:
            yield f"{name} is the name of {len(places)}: {', '.join(sorted(places))}"


def check_languages(_build):
    """What is particular to a language is in its file: nothing else but images knows it by a name."""
    folder = ROOT / "interpreter" / "languages"
    names = re.findall(r"'(\w+)'", re.search(r"language_names = \[(.*?)\]", (folder / "meson.build").read_text(), re.S)[1])
    members = r"^    \.(?:name|title|other_names|http_names|extensions|code_name) =\s(.*?),(?=\n    \.|\n\})"
    words = set()
    for name in names:
        found = {word for member in re.findall(members, (folder / f"{name}.c").read_text(), re.M | re.S)
                 for word in re.findall(r'"([^"]*)"', member)}
        if not {name} < found:
            yield f"{name_of(folder)}/{name}.c does not say its name, or nothing else"
        words |= found
    said = re.compile(rf"\b(?i:language)_(?:{'|'.join((*names, *map(str.upper, names)))})\b")
    for path in sources(".c", ".h", ".def"):
        name = name_of(path)
        if not name.startswith(("cli/", "fleet/", "interpreter/", "mcp/", "sandbox/")) or path.parent == folder or name in OF_ALL_LANGUAGES:
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        texts = {text for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if text in words}
        yield from (f"{name} knows a language: {found}: say it in interpreter/languages"
                    for found in sorted(texts | set(said.findall(text))))


def check_skips(_build):
    """A skipped unit test says why, in a line that every meson takes for a skip: skip_because()."""
    for path in sources(".c"):
        if re.search(r"\bskip\(\)", path.read_text()) and path.name != "skip.c":
            yield f"{name_of(path)} calls skip(), not skip_because()"


def check_external_names(build):
    """No two units of the product define an external function or variable of the same name."""
    units = collections.defaultdict(set)
    objects = {entry["output"]: name_of(pathlib.Path(os.path.normpath(build / entry["file"])))
               for entry in json.loads((build / "compile_commands.json").read_text())
               if entry["output"].startswith(tuple(f"{folder}/" for folder in PRODUCT))}
    for output, source in objects.items():
        if not (build / output).exists():
            yield f"{output} is not built"
            continue
        symbols = subprocess.run(["nm", "--extern-only", "--defined-only", "--format=posix",
                                  build / output], text=True, capture_output=True, check=True)
        for line in symbols.stdout.splitlines():
            units[line.split()[0]].add(source)
    if not units:
        yield f"no object of the product below {build}"
    for symbol, defined in sorted(units.items()):
        if len(defined) > 1 and symbol != "main":
            yield f"{symbol} is defined in {', '.join(sorted(defined))}"


def check_other_libc(build):
    """The product calls no function that only glibc declares: static programs have musl."""
    machine = platform.machine()
    of_compiler = subprocess.check_output(["gcc", "-print-file-name=include"], text=True).strip()
    flags = ["-fsyntax-only", "-fdiagnostics-color=never", "-Werror=implicit-function-declaration", "-nostdinc",
             "-isystem", f"/usr/include/{machine}-linux-musl", "-isystem", of_compiler,
             "-idirafter", "/usr/include", "-idirafter", f"/usr/include/{machine}-linux-gnu"]

    def undeclared(entry):
        words = shlex.split(entry["command"])
        done = subprocess.run(words[:words.index("-MD")] + [entry["file"], *flags], cwd=entry["directory"], text=True,
                              capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
        return set(re.findall(r"implicit declaration of function '(\w+)'", done.stderr)) - OF_NEWER_MUSL

    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if entry["output"].startswith(tuple(f"{folder}/" for folder in PRODUCT))
               and not entry["file"].endswith(OF_GLIBC)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for entry, found in zip(entries, threads.map(undeclared, entries)):
            yield from (f"{entry['file']} calls {name}(), which musl has not" for name in sorted(found))
    for path in sources(".c"):
        if re.search(r"(?<!\.)\bbasename\(", path.read_text()):
            yield f"{name_of(path)} calls basename(), which musl's <string.h> declares before 1.2.5 only"


def documents():
    return [path for path in sources(".md") if path.parent in (ROOT, ROOT / "docs")]


def anchors_of(document):
    """Those that GitHub makes of its headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_documents(_build):
    """Functions, files and links in the documents exist."""
    source = "\n".join(path.read_text() for path in sources(".c", ".h", ".py"))
    for document in documents():
        name, text = name_of(document), document.read_text()
        for function in sorted(set(re.findall(r"\b([a-z]\w*_\w*)\(\)", text))):
            if not re.search(rf"^[a-z].*\b{function}\(", source, re.MULTILINE):
                yield f"{name} names {function}(), which is nowhere defined"
        for file in sorted(set(re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", text))):
            if not (ROOT / file).exists() and "NAME" not in file:
                yield f"{name} names {file}, which does not exist"
        for link in sorted(set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text))):
            if not (document.parent / link).exists():
                yield f"{name} links to {link}, which does not exist"
        for link, anchor in sorted(set(re.findall(r"\]\(([^)#:]*)#([^)]*)\)", text))):
            target = document.parent / link if link else document
            if target.exists() and anchor not in anchors_of(target):
                yield f"{name} links to #{anchor}, and {name_of(target.resolve())} has no such heading"


def running_words(text):
    """The words of a document without its blocks of code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"[A-Za-z][A-Za-z'-]*", re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE))


def check_prose(_build):
    """Few relative clauses: a noun, where a clause would do."""
    for document in documents():
        words = running_words(document.read_text())
        share = 100 * sum(word.lower() in PRONOUNS for word in words) / max(len(words), 1)
        if share > PRONOUNS_MAX:
            yield (f"{name_of(document)}: {share:.1f} of 100 words are who, which, what or that; "
                   f"at most {PRONOUNS_MAX}")


def check_front_page(_build):
    count = len((ROOT / "README.md").read_text().split())
    if count > README_WORDS_MAX:
        yield f"README.md has {count} words, more than {README_WORDS_MAX}: docs/ has room"


def check_sizes(_build):
    for document in documents():
        name, lines = name_of(document), len(document.read_text().splitlines())
        if lines > (most := FRONT_PAGES_LINES_MAX.get(name, PAGE_LINES_MAX)):
            yield f"{name} has {lines} lines, more than {most}: perhaps two pages, each with its reader"
    for path in sources(".c", ".h", ".py", ".mjs", ".cjs", ".js"):
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES_MAX and not name_of(path).startswith(OF_OTHERS):
            yield f"{name_of(path)} has {lines} lines, more than {FILE_LINES_MAX}: perhaps two files"


def check_top_level(_build):
    for name in sorted({path.relative_to(ROOT).parts[0] for path in tracked()}):
        if name not in TOP_LEVEL:
            yield f"{name}: the top level holds {', '.join(sorted(TOP_LEVEL))}, nothing else"


CHECKS = (check_top_level, check_layers, check_include_cycles, check_names, check_languages, check_sizes,
          check_documents, check_front_page, check_prose, check_skips, check_external_names, check_child_symbols,
          check_other_libc, check_shell, check_python, check_formatting, check_static_analysis)
TOOLS = {check_shell: "shellcheck", check_python: "pyflakes3", check_formatting: "clang-format-19",
         check_other_libc: "musl-gcc", check_static_analysis: "clang-tidy-19"}


def why_left_out(check, quick, slow):
    if slow != (check is check_static_analysis) and (quick or slow):
        return "make lint has it"
    if quick and check in TOOLS and not shutil.which(TOOLS[check]):
        return f"{TOOLS[check]} is not installed"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("report", type=pathlib.Path, nargs="?")
    arguments = parser.parse_args()
    suite = xml.etree.ElementTree.Element("testsuite", name="lint")
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        reason = why_left_out(check, arguments.quick, arguments.slow)
        if reason:
            print(f"{'-':6}  {name}: {reason}")
            continue
        case = xml.etree.ElementTree.SubElement(suite, "testcase", name=name)
        complaints = list(check(arguments.build.resolve()))
        print(f"{'FAILED' if complaints else 'ok':6}  {name}", *complaints, sep="\n        ",
              flush=True)
        if complaints:
            xml.etree.ElementTree.SubElement(case, "failure", message="; ".join(complaints[:3]))
    if arguments.report:
        xml.etree.ElementTree.ElementTree(suite).write(arguments.report)
    return 1 if suite.findall("testcase/failure") else 0


if __name__ == "__main__":
    sys.exit(main())
