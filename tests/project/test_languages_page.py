"""docs/languages.md has a row for each language that is a file, and what it says of one is in its file."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
FILES = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "images" / "languages").glob("*.json"))]
PAGE = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z]+)` \| ([^|]+ \| (?:`\.[A-Za-z0-9]+` ?)+)\|", PAGE, re.MULTILINE))


def test_each_language_has_its_row():
    said = {name: " ".join(row.split()) for name, row in ROWS.items()}
    assert said == {file["name"]: f"{file['title']} | " + " ".join(f"`{it}`" for it in file["extensions"]) for file in FILES}


def test_each_key_of_a_language_file_is_explained():
    keys = set().union(*FILES)
    explained = set(re.findall(r"`([a-z_]+)`", "".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))))
    assert keys <= explained, keys - explained


def test_what_debian_does_not_have_comes_from_a_registry_whose_tag_is_named():
    for file in FILES:
        assert ("packages" in file) + ("reference" in file) == (file["name"] != "typescript"), file["name"]
        assert re.fullmatch(r"docker\.io/library/[a-z]+:[0-9.]+", file.get("reference", "docker.io/library/a:1")), file["name"]
