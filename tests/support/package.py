"""The package of Python as it is in the tree, with the program of the build. Import it before code_sandbox."""

import sys

from . import mcp_client

PACKAGE = mcp_client.ROOT / "packaging" / "python"
PROGRAM = str(mcp_client.program_path())
IMAGE = "python-slim"
sys.path.insert(0, str(PACKAGE))

import code_sandbox  # noqa: E402 pylint: disable=wrong-import-position,import-error


def start(**options):
    return code_sandbox.Sandbox(IMAGE, program=PROGRAM, **options)
