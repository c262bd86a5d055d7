"""Stores of images: what is in them, copies, and images put together by hand."""

import json
import os
import pathlib
import random
import shutil
import subprocess


COPY = ["cp", "--recursive", "--preserve=mode,links,timestamps", "--reflink=auto"]


def user_images():
    """The directory of the images of whoever runs the tests."""
    home = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(home) / "code-sandbox-mcp" / "images"


def record_of(image):
    return json.loads((image / "image.json").read_text())


def layers_of(image):
    """The directories of the layers of an image, bottom to top; none in one of an older version."""
    layers = image.parent.parent / "layers"
    return [layers / layer["id"] for layer in record_of(image).get("layers", [])]


def copy_image(image, images, name=None):
    """Copies an image with its layers into the directory of images of another store."""
    images.mkdir(parents=True, exist_ok=True)
    subprocess.run([*COPY, image, images / (name or image.name)], check=True)
    for layer in layers_of(image):
        (images.parent / "layers").mkdir(exist_ok=True)
        if not (images.parent / "layers" / layer.name).exists():
            subprocess.run([*COPY, layer, images.parent / "layers"], check=True)


def link_store(store, directory):
    """A second store of the same files: layers never change, so that links are as good as copies."""
    shutil.copytree(store, directory, symlinks=True, copy_function=os.link)


def new_layer(images):
    """An empty layer, as its id and its tree."""
    name = "".join(random.choices("abcdefghijklmnopqrstuvwxyz234567", k=16))
    tree = images.parent / "layers" / name / "tree"
    tree.mkdir(parents=True)
    return name, tree


def stack(images, base, name, layer_ids):
    """Records an image of the layers of `base` and these."""
    record = record_of(images / base)
    record["name"] = name
    record["layers"] += [{"id": layer, "origin": "a test", "created": record["created"],
                          "size_bytes": 1, "file_count": 1} for layer in layer_ids]
    (images / name).mkdir()
    (images / name / "image.json").write_text(json.dumps(record))


def image_with(base, directory, files):
    """A store below this directory with one image: `base` and a layer of these files {path: text} on top.

    The value of XDG_DATA_HOME for it; its image is "mine".
    """
    images = directory / "code-sandbox-mcp" / "images"
    images.mkdir(parents=True)
    shutil.copytree(base, images / base.name, symlinks=True)
    (images.parent / "layers").mkdir()
    for layer in layers_of(base):  # no links: they would change the times of files that others look at
        subprocess.run([*COPY, layer, images.parent / "layers" / layer.name], check=True)
    name, tree = new_layer(images)
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    stack(images, base.name, "mine", [name])
    return str(directory)
