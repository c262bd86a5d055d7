"""A store of images for these tests alone: with them in the user's store, servers of others would have a tool more.

While you write programs, $CODE_SANDBOX_LANGUAGE_IMAGES may name a store that has the images already, as XDG_DATA_HOME does.
"""

import json
import os
import subprocess

import pytest

from support import mcp_client

STORE = "CODE_SANDBOX_LANGUAGE_IMAGES"
PATIENCE = 600  # seconds, for an image


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    if STORE in os.environ:
        yield mcp_client.environment_of(XDG_DATA_HOME=os.environ[STORE])
        return
    own = mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path_factory.mktemp("images")))
    yield own
    listed = mcp_client.run_program("images", "list", "--json", env=own)
    names = [image["name"] for image in json.loads(listed.stdout)]
    mcp_client.run_program("images", "remove", *names, env=own, timeout=PATIENCE)


@pytest.fixture(scope="session")
def fetch(environment):
    """Fetches an image, unless it is there."""
    def fetch_image(name):
        subprocess.run([mcp_client.program_path(), "fetch", name], check=True, timeout=PATIENCE, env=environment)
    return fetch_image
