"""The runners as they are built into the server."""

import hashlib
import pathlib

ACORN = pathlib.Path(__file__).resolve().parent.parent.parent / "images" / "runners" / "javascript" / "acorn"


def test_the_parser_is_the_published_one():
    """acorn 8.19.0 of the npm registry, by `npm pack acorn@8.19.0`."""
    assert hashlib.sha256((ACORN / "acorn.js").read_bytes()).hexdigest() == (
        "b95392d79457d0357555c5ed3e56302d074b92dff119bcf3b44179500b10e9df")
    assert "Permission is hereby granted" in (ACORN / "LICENSE").read_text()


def test_the_program_carries_the_licence_of_the_parser(build_directory):
    program = (build_directory / "images" / "runners" / "javascript" / "session.cjs").read_text()
    assert (ACORN / "LICENSE").read_text().strip() in program
    assert 'var version = "8.19.0"' in program
