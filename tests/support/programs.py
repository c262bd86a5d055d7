"""Where programs of Debian packages are: users have no /usr/sbin in PATH."""

import os
import shutil

PLACES = "/usr/local/sbin:/usr/sbin:/sbin"


def root_environment():
    """For programs that are root in a namespace, and call others by name."""
    return {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:{PLACES}"}


def path_of(name):
    """The path of a program that the tests call; an error if it is not installed."""
    path = shutil.which(name, path=root_environment()["PATH"])
    assert path, f"{name} is not installed: .ci/install-packages STAGE installs what a stage needs"
    return path
