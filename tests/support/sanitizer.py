"""Tests that a server with AddressSanitizer in it cannot pass say so, and why."""

import os

import pytest

# Set where the built programs have AddressSanitizer in them (tests/run.py, stage asan).
IN_USE = os.environ.get("CODE_SANDBOX_SANITIZED") == "1"


def skip_if_in_use(why):
    if IN_USE:
        pytest.skip(f"under AddressSanitizer: {why}")
