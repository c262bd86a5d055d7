"""The files of languages that are data."""

import json
import pathlib

FILES = pathlib.Path(__file__).parents[2] / "images" / "languages"
MEMORY_MIB = 512
HEAP_MIB = 330  # what placeholder_heap_mib() leaves of that


def described(language):
    return json.loads((FILES / f"{language}.json").read_text(encoding="utf-8"))


def all_names():
    """Those whose images are made of packages: the others have tests/images/test_languages_of_registries.py."""
    return {path.stem for path in FILES.glob("*.json") if "reference" not in described(path.stem)}
