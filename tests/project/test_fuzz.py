"""Every fuzz harness is built, has seeds, and not so many that replaying them would take long."""

import pathlib
import re

FUZZ = pathlib.Path(__file__).resolve().parent.parent / "fuzz"
HARNESSES = sorted(path.stem.removeprefix("fuzz-") for path in FUZZ.glob("fuzz-*.c"))


def test_each_harness_is_registered():
    table = re.search(r"^harnesses = \{(.*?)^\}", (FUZZ / "meson.build").read_text(),
                      re.MULTILINE | re.DOTALL)[1]
    assert re.findall(r"'([\w-]+)':", table) == HARNESSES


def test_each_harness_has_a_few_small_seeds():
    assert sorted(path.name for path in (FUZZ / "corpus").iterdir()) == HARNESSES
    for name in HARNESSES:
        sizes = [path.stat().st_size for path in (FUZZ / "corpus" / name).iterdir()]
        assert 5 <= len(sizes) <= 40 and max(sizes) <= 16384, name
