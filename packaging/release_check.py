"""What must agree before a release: release_check.py [OUTPUT]

OUTPUT (default: build-dist) is what `make dist` has built. Checks that each form has the version, names and
programs of every other, that SHA256SUMS is right, and that documents mention only options that exist. Each
check is a function that yields complaints; none is a pass.
"""

import hashlib
import io
import json
import pathlib
import platform
import re
import sys
import tarfile
import tempfile
import zipfile

import program_help
from forms import manifests, npm, wheel
from forms.release import CHANGELOG, COMMAND, NAMES, NPM_CPUS, ROOT, VERSION, npm_name
from static.sources import PINS, upstream_version

# Options of clients and interpreters, which documents mention too.
OF_OTHERS = {"--allowedTools", "--cli", "--no-force-async-hooks-checks", "--security-opt", "--signal", "--strict", "--trust"}


def members_of(path):
    """{name: bytes} of an archive."""
    content = path.read_bytes()
    if path.suffix in (".whl", ".mcpb"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}


class Release:
    """The files of OUTPUT by what they are."""

    def __init__(self, output):
        self.output = output
        self.architectures = [one for one in NPM_CPUS if (output / f"{self.stem(one)}.tar.gz").exists()]

    @staticmethod
    def stem(architecture):
        return f"{COMMAND}-{VERSION}-linux-{architecture}"

    def json_of(self, name):
        return json.loads((self.output / name).read_text(encoding="utf-8"))

    def forms(self, architecture):
        """Each archive of an architecture, with the folders that have its programs."""
        stem = self.stem(architecture)
        data = f"{NAMES['pypi'].replace('-', '_')}-{VERSION}.data"
        yield f"{stem}.tar.gz", {f"{stem}/bin/", f"{stem}/libexec/{COMMAND}/"}
        yield npm.file_name(npm_name(architecture)), {"package/bin/", f"package/libexec/{COMMAND}/"}
        inner = f"package/node_modules/{npm_name(architecture)}"
        yield npm.bundled_file_name(architecture), {f"{inner}/bin/", f"{inner}/libexec/{COMMAND}/"}
        yield wheel.file_name(architecture), {f"{data}/scripts/", f"{data}/data/libexec/{COMMAND}/"}
        yield f"{stem}.mcpb", {"bin/", f"libexec/{COMMAND}/"}

    def programs(self, architecture):
        """{form: {program: digest}}"""
        for name, folders in self.forms(architecture):
            found = {}
            for member, content in members_of(self.output / name).items():
                folder, slash, program = member.rpartition("/")
                if folder + slash in folders and program != NAMES["pypi"]:
                    found[program] = hashlib.sha256(content).hexdigest()
            yield name, found


def check_files(release):
    """There is a release, and SHA256SUMS names each of its files with the right digest."""
    if not release.architectures:
        yield f"{release.output} has no programs of version {VERSION}: make dist"
    listed = {}
    for line in (release.output / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        listed[name] = digest
    there = {path.name for path in release.output.iterdir() if path.is_file()} - {"SHA256SUMS"}
    for name in sorted(there ^ set(listed)):
        yield f"{name} is {'not in SHA256SUMS' if name in there else 'in SHA256SUMS, but not there'}"
    for name in sorted(there & set(listed)):
        if hashlib.sha256((release.output / name).read_bytes()).hexdigest() != listed[name]:
            yield f"{name} is not the file that SHA256SUMS means"


def check_programs(release):
    """Each form has the same programs."""
    for architecture in release.architectures:
        [(first, expected), *others] = release.programs(architecture)
        if COMMAND not in expected:
            yield f"{first} has no {COMMAND}"
        for name, found in others:
            if found != expected:
                yield f"{name} has other programs than {first}"


def check_versions(release):
    [meson] = re.findall(r"^  version: '(.*)',$", (ROOT / "meson.build").read_text(), re.M)
    found = {"meson.build": meson}
    for name in ("server.json", "gemini-extension.json"):
        found[name] = release.json_of(name)["version"]
    for package in release.json_of("server.json")["packages"]:
        found[f"{package['registryType']} in server.json"] = package["version"]
    main = json.loads(members_of(release.output / npm.file_name(NAMES["npm"]))["package/package.json"])
    found[main["name"]] = main["version"]
    found.update({f"{name} in {main['name']}": version for name, version in main["optionalDependencies"].items()})
    for architecture in release.architectures:
        manifest = members_of(release.output / f"{release.stem(architecture)}.mcpb")["manifest.json"]
        found[f"{architecture}.mcpb"] = json.loads(manifest)["version"]
        package = members_of(release.output / npm.file_name(npm_name(architecture)))["package/package.json"]
        found[npm_name(architecture)] = json.loads(package)["version"]
        [metadata] = [content.decode() for name, content in members_of(release.output / wheel.file_name(architecture)).items()
                      if name.endswith("/METADATA")]
        found[wheel.file_name(architecture)] = re.search(r"^Version: (.*)$", metadata, re.M)[1]
        page = members_of(release.output / f"{release.stem(architecture)}.tar.gz")[
            f"{release.stem(architecture)}/share/man/man1/{COMMAND}.1"].decode()
        found[f"manual page of {architecture}"] = re.search(rf'"{COMMAND} (\S+)"', page)[1]
    for name, version in found.items():
        if version != VERSION:
            yield f"{name} has the version {version}, the changelog {VERSION}"


def check_names(release):
    """The npm package and server.json know each other, and no form has the name that belongs to others."""
    server = release.json_of("server.json")
    main = json.loads(members_of(release.output / npm.file_name(NAMES["npm"]))["package/package.json"])
    if main["mcpName"] != server["name"]:
        yield f"{main['name']} has mcpName {main['mcpName']}, server.json the name {server['name']}"
    identifiers = {package["registryType"]: package["identifier"] for package in server["packages"]}
    if identifiers != {"npm": main["name"], "pypi": NAMES["pypi"]}:
        yield f"server.json names the packages {identifiers}"
    for name in (main["name"], NAMES["pypi"]):
        if name == COMMAND:
            yield f"{COMMAND} belongs to others on npm and PyPI"
    if len(server["description"]) > 100:
        yield "the description is longer than the 100 characters of server.json"
    if release.json_of("gemini-extension.json") != manifests.gemini_extension():
        yield "gemini-extension.json is not of this source"
    for architecture in release.architectures:
        [metadata] = [content.decode() for name, content in members_of(release.output / wheel.file_name(architecture)).items()
                      if name.endswith("/METADATA")]
        if f"\nmcp-name: {server['name']}\n" not in metadata:
            yield f"{wheel.file_name(architecture)} does not name {server['name']}"


def check_bill(release):
    """The bill of materials is of these programs and pins."""
    for architecture in release.architectures:
        bill = release.json_of(f"{release.stem(architecture)}.spdx.json")
        digests = {file["fileName"].rpartition("/")[2]: file["checksums"][0]["checksumValue"] for file in bill["files"]}
        if digests != dict(release.programs(architecture))[f"{release.stem(architecture)}.tar.gz"]:
            yield f"the bill of {architecture} is of other programs"
        versions = {package["name"]: package["versionInfo"] for package in bill["packages"]}
        for pin in PINS["libraries"].values():
            if versions.get(pin["source"]) != upstream_version(pin):
                yield f"the bill of {architecture} has {pin['source']} {versions.get(pin['source'])}"


def check_changelog(_release):
    newest = CHANGELOG.partition("\n -- ")[0]
    if "UNRELEASED" in newest or not re.search(r"^  \* \S", newest, re.M):
        yield "the newest entry of packaging/debian/changelog is empty or unreleased"


def known_options(release):
    """Of all commands; from the programs in the archive, so that it is said of what is released."""
    members = members_of(release.output / f"{release.stem(platform.machine())}.tar.gz")
    prefix = f"{release.stem(platform.machine())}/"
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in members.items():
            if name.startswith((f"{prefix}bin/", f"{prefix}libexec/")):
                path = pathlib.Path(scratch) / name.removeprefix(prefix)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o755)
        program = pathlib.Path(scratch) / "bin" / COMMAND
        return {option.name for command in program_help.read_all(program).values() for option in command.options}


def options_in(text):
    """Those behind the name of the command on one line, and those alone in a code span."""
    for line in re.findall(rf"\b{COMMAND} ([^|`\n]*)", text):
        yield from re.findall(r"(?<!\S)--[a-z][A-Za-z-]*", line.partition(" -- ")[0])
    yield from re.findall(r"`(--[a-z][A-Za-z-]*)", text)


def check_options(release):
    if platform.machine() not in release.architectures:
        return
    known = known_options(release) | {"--help", "--version"} | OF_OTHERS
    for document in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]):
        for option in sorted(set(options_in(document.read_text(encoding="utf-8"))) - known):
            yield f"{document.relative_to(ROOT)} mentions {option}, which no command has"


CHECKS = (check_files, check_programs, check_versions, check_names, check_bill, check_changelog, check_options)


def main():
    release = Release(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-dist"))
    if not (release.output / "SHA256SUMS").exists():
        sys.exit(f"{release.output} has no release: make dist")
    failed = False
    for check in CHECKS:
        complaints = list(check(release))
        failed = failed or bool(complaints)
        print(f"{'FAILED' if complaints else 'ok':6}  {check.__name__.removeprefix('check_')}", *complaints, sep="\n        ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
