"""The image and the two places, as fixtures."""

import image
import places
import pytest
from support import debian


@pytest.fixture(scope="session")
def both_places(server_path):
    try:
        return places.Places(server_path, image.provide(server_path))
    except debian.Unavailable as error:
        pytest.fail(f"the image of the interpreters' tests cannot be made: {error}")
