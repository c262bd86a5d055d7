"""Builds what is released beside the Debian package: dist.py [--arch ARCHITECTURE]... [OUTPUT]

The static programs of each architecture (default: this machine's) as tar.gz, npm package, wheel and MCP
bundle, each with a bill of materials; the main npm package; files for registries and clients; SHA256SUMS.
OUTPUT (default: build-dist) keeps in `work` what takes long. The same source gives the same bytes.
"""

import argparse
import pathlib
import platform
import shutil
import sys

from forms import archives, manifests, npm, sbom, wheel
from forms.release import COMMAND, EPOCH, ROOT, VERSION
from static import programs, sources

UNAVAILABLE = 3  # exit code: a pinned source cannot be had


def build(work, architecture):
    """The build and its files, with pages and completions, which only a machine of that kind can write."""
    made = programs.Build(work, architecture, EPOCH)
    tree = made.make()
    if made.is_foreign():
        native = programs.Build(work, platform.machine(), EPOCH)
        native.make()
        shutil.copytree(native.tree / "share", tree / "share", dirs_exist_ok=True)
    return made


def write_tar(output, architecture, tree, notices, bill):
    name = f"{COMMAND}-{VERSION}-linux-{architecture}"
    members = archives.Members()
    members.add_tree(tree, f"{name}/")
    documents = f"{name}/share/doc/{COMMAND}"
    for file in ("README.md", "SECURITY.md", "LICENSE"):
        members.add(f"{documents}/{file}", (ROOT / file).read_bytes())
    for library, text in notices.items():
        members.add(f"{documents}/licenses/{library}", text)
    members.add(f"{documents}/{name}.spdx.json", bill)
    (output / f"{name}.tar.gz").write_bytes(members.tar_gz(EPOCH))
    (output / f"{name}.spdx.json").write_text(bill, encoding="utf-8")


def write_forms(output, architecture, made):
    notices = dict(made.licences())
    write_tar(output, architecture, made.tree, notices, sbom.text_of(architecture, made.tree))
    npm.write_programs(output, architecture, made.tree, notices)
    npm.write_bundled(output, architecture, made.tree, notices)
    wheel.write(output, architecture, made.tree, notices)
    manifests.write_bundle(output, architecture, made.tree, notices)


def write_sums(output):
    files = sorted(path for path in output.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    (output / "SHA256SUMS").write_text("".join(f"{sources.digest_of(path)}  {path.name}\n" for path in files))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", action="append", choices=programs.ARCHITECTURES)
    parser.add_argument("output", nargs="?", type=pathlib.Path, default=ROOT / "build-dist")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    for old in output.iterdir():
        if old.is_file():
            old.unlink()
    try:
        for architecture in arguments.arch or [platform.machine()]:
            write_forms(output, architecture, build(output / "work", architecture))
    except sources.Unavailable as error:
        print(f"dist.py: {error}", file=sys.stderr)
        return UNAVAILABLE
    npm.write_main(output)
    manifests.write_all(output)
    write_sums(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
