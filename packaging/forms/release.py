"""What every form of a release says of itself: names from names.json, version and date from the changelog."""

import email.utils
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = json.loads((ROOT / "packaging" / "names.json").read_text(encoding="utf-8"))
CHANGELOG = (ROOT / "packaging" / "debian" / "changelog").read_text(encoding="utf-8")

VERSION = re.search(r"^\S+ \((.*?)\)", CHANGELOG)[1]
EPOCH = int(email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", CHANGELOG, re.M)[1]).timestamp())

COMMAND = NAMES["command"]
# As npm and Python call the architectures.
NPM_CPUS = {"x86_64": "x64", "aarch64": "arm64"}
PROGRAMS = ("bin", "libexec")


def npm_name(architecture):
    """The package with the programs of that architecture."""
    return f"{NAMES['npm']}-linux-{NPM_CPUS[architecture]}"
