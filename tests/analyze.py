"""What two more analyzers say of the source, beside clang-tidy (lint.py): analyze.py BUILD [REPORT]

gcc -fanalyzer and cppcheck, over every compiled file but the unit tests: neither knows that a failed
assertion of cmocka does not return. A finding is mended, or accepted below with the reason why it is
none; one that is neither is a failure. REPORT is a JUnit file.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
IN_LIST = "what the list keeps is released with it, half of a pair too"
HANDED_OVER = "OWNED frees it unless it was handed over, which is not seen through the macro"
CLOSED = "OWNED_FD closes it, which is not seen through the macro"
PROGRAMS = "it stays open for the program that is executed"
# Of gcc 12 and 14, cppcheck 2.10 and 2.17: the file, the name of the finding, and why there is nothing to mend.
AT_ITS_END = "where a promise is broken, the process aborts"
ACCEPTED = {
    ("images/base/subprocess.c", "-Wanalyzer-fd-leak"): PROGRAMS,
    ("images/build/contents.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("images/build/postinstall.c", "memleak"): HANDED_OVER,
    ("images/build/recipe_make.c", "-Wanalyzer-malloc-leak"): "the lock is its caller's, who releases it",
    ("images/registry/auth_file.c", "memleak"): HANDED_OVER,
    ("images/base/digest.c", "memleak"): HANDED_OVER,
    ("images/base/manifest.c", "-Wanalyzer-malloc-leak"): HANDED_OVER,
    ("images/registry/token.c", "memleak"): HANDED_OVER,
    ("images/build/sources.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("interpreter/preparation.c", "-Wanalyzer-malloc-leak"): "the annex of the image keeps it, and releases it",
    ("images/runners/bash/tools_system.h", "preprocessorErrorDirective"): "every compiler names its architecture, and cppcheck none",
    ("interpreter/live_session.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("mcp/extension/exec_words.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("mcp/extension/parameters.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("mcp/subscriptions.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("sandbox/session_calls.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("sandbox/session_command.c", "memleak"): HANDED_OVER,
    ("sandbox/session_file.c", "memleak"): HANDED_OVER,
    ("tests/fuzz/fake-launcher.c", "-Wanalyzer-malloc-leak"): AT_ITS_END,
    ("sandbox/interpreter_template.c", "memleak"): "the origin of the fork's sandbox keeps it, until let_go()",
    ("sandbox/jail/folders/folder_scan.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("images/store/store.c", "-Wanalyzer-malloc-leak"): HANDED_OVER,
    ("sandbox/base/tree.c", "-Wanalyzer-null-argument"):
        "directory_open() sets the directory whenever it answers 0",
    ("images/image_main.c", "-Wanalyzer-malloc-leak"): "(iconv_t)-1 is no converter",
    ("images/verify_main.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("interpreter/changes/change_list.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("interpreter/changes/names.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("interpreter/files/kept_files.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("interpreter/folders/changes_since.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("interpreter/rules/rules.c", "-Wanalyzer-malloc-leak"): IN_LIST,
    ("sandbox/base/fd_message.c", "-Wanalyzer-null-dereference"):
        "CMSG_FIRSTHDR() finds a header, for which the message has room",
    ("sandbox/jail/child/descriptors.c", "-Wanalyzer-null-dereference"):
        "CMSG_FIRSTHDR() finds a header, for which the message has room",
    ("sandbox/base/json.c", "-Wanalyzer-malloc-leak"):
        "chunks are linked into the document, which json_free() walks",
    ("sandbox/base/owned.h", "-Wanalyzer-fd-leak"):
        "fd_close() empties the variable when it has closed the descriptor",
    ("sandbox/jail/child/init.c", "-Wanalyzer-fd-leak"): PROGRAMS,
    ("sandbox/limits/disk_usage.c", "-Wanalyzer-malloc-leak"): "the tree of inodes keeps it, until tdestroy(3)",
    ("sandbox/limits/pss.c", "-Wanalyzer-fd-leak"): CLOSED,
    ("sandbox/network/broker/relay.c", "-Wanalyzer-malloc-leak"): "the direction keeps it, until forget_kept()",
    ("sandbox/network/policy_rule.c", "memleak"): "OWNED_MEMORY frees the copy, parts of which are pointed to",
    ("sandbox/warm_pool.c", "-Wanalyzer-use-after-free"):
        "a prewarmed sandbox leaves the list of its kind before it is freed",
    ("sandbox/limits/scope_request.c", "-Wanalyzer-fd-leak"): CLOSED,
    ("tests/bench/bench-report.c", "resourceLeak"):
        "OWNED closes the file, which is not seen through its macro",
    ("tests/bench/bench-runs.c", "-Wanalyzer-malloc-leak"): "rows_release() frees what the rows keep",
    ("tests/bench/bench-runs.c", "-Wanalyzer-null-dereference"): "bench_open() makes every engine",
    ("tests/fuzz/fuzz-dbus-answer.c", "-Wanalyzer-malloc-leak"): AT_ITS_END,
    ("tests/fuzz/fuzz-environment.c", "-Wanalyzer-malloc-leak"): AT_ITS_END,
    ("tests/fuzz/fuzz-left-files.c", "-Wanalyzer-malloc-leak"): AT_ITS_END,
    ("tests/fuzz/fuzz-patch.c", "-Wanalyzer-malloc-leak"): AT_ITS_END,
    ("tests/fuzz/fuzz.h", "-Wanalyzer-malloc-leak"): AT_ITS_END,
    ("tests/fuzz/fuzz-setting.c", "-Wanalyzer-infinite-recursion"):
        "with 0 it finds the first setting, and there is one",
}


def compiled(build):
    """The command lines of the C files that count, by name."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        name = os.path.relpath((build / entry["file"]).resolve(), ROOT)
        if name.endswith(".c") and not name.startswith(("..", "tests/unit/", build.name)):
            commands[name] = shlex.split(entry["command"])
    return commands


def analyze_with_gcc(build, command):
    """Compiles one file into nothing, and yields what the analyzer says."""
    kept = [word for word in command if word not in ("-Werror", "-MD")]
    for option in ("-o", "-MQ", "-MF"):
        if option in kept:
            at = kept.index(option)
            del kept[at:at + 2]
    done = subprocess.run([*kept, "-fanalyzer", "-fdiagnostics-plain-output", "-o", "/dev/null"],
                          cwd=build, text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        yield command[-1], 0, "failed", done.stdout
    for found in re.finditer(r"^(\S+?):(\d+):\d+: warning: (.*) \[(-W[^\]]+)\]$", done.stdout,
                             re.MULTILINE):
        yield found[1], int(found[2]), found[4], found[3]


def check_gcc(build, commands):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(lambda one: list(analyze_with_gcc(build, one)), command)
                for command in commands.values()]
        for job in jobs:
            yield from job.result()


def check_cppcheck(build, commands):
    names = [build / os.path.relpath(ROOT / name, build) for name in commands]
    filters = [f"--file-filter={os.path.normpath(name)}" for name in names]
    done = subprocess.run(["cppcheck", f"--project={build}/compile_commands.json", *filters,
                           "--enable=warning,performance,portability", "--quiet",
                           # how deep newer ones look, said of each file
                           "--suppress=normalCheckLevelMaxBranches",
                           f"-j{os.cpu_count()}", "--template={file}:{line}:{id}:{message}"],
                          cwd=build, text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        yield "cppcheck", 0, "failed", done.stdout
    for found in re.finditer(r"^([^:\n]*):(\d+):([^:\n]+):(.*)$", done.stdout, re.MULTILINE):
        yield found[1], int(found[2]), found[3], found[4]


def complaints_of(build, findings):
    """What of the findings is not accepted. `used` says which acceptances were needed."""
    used = set()
    complaints = []
    for file, line, name, text in findings:
        path = os.path.relpath((build / file).resolve(), ROOT)
        if (path, name) in ACCEPTED:
            used.add((path, name))
        else:
            complaints.append(f"{path}:{line}: {text} [{name}]")
    return complaints, used


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    commands = compiled(build)
    suite = xml.etree.ElementTree.Element("testsuite", name="analyze")
    needed = set()
    for name, check in (("gcc -fanalyzer", check_gcc), ("cppcheck", check_cppcheck)):
        case = xml.etree.ElementTree.SubElement(suite, "testcase", name=name)
        complaints, used = complaints_of(build, check(build, commands))
        needed |= used
        print(f"{'FAILED' if complaints else 'ok':6}  {name}, {len(commands)} files", *complaints,
              sep="\n        ", flush=True)
        if complaints:
            xml.etree.ElementTree.SubElement(case, "failure", message="; ".join(complaints[:3]))
    for path, name in sorted(set(ACCEPTED) - needed):
        print(f"note: {name} in {path} is accepted in tests/analyze.py; these versions do not find it")
    if len(sys.argv) > 2:
        xml.etree.ElementTree.ElementTree(suite).write(sys.argv[2])
    return 1 if suite.findall("testcase/failure") else 0


if __name__ == "__main__":
    sys.exit(main())
