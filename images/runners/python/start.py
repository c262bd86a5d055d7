"""What site imports as usercustomize when Python starts, before any code of the run.

It removes every trace of itself and leaves a finder at the front of sys.meta_path, which has the
program of figures.py. That is compiled when the snippet imports one of the modules in question; all
others pay for a look-up in a set. Then the program of preload.py runs, if there is one, and the
image's own usercustomize.

Every run executes this, so there is little of it. bytecode.py compiles it in advance: compile() would
make all types of ast first, in 1.5 ms.
"""
import os
import sys

figures = b"@figures@"  # the server puts the program here; without content if figures are off
place, _, _ = __file__.rpartition("/")
cached = __spec__.cached
preload = None
names = os.listdir(place)
if "preload.py" in names:
    with open(place + "/preload.py", "rb") as file:
        preload = file.read()
    os.remove(place + "/preload.py")
if "__pycache__" in names:  # it was compiled just now
    os.remove(cached)
    os.rmdir(os.path.dirname(cached))
os.remove(__file__)
os.removedirs(place)
sys.path.remove(place)
del sys.path_importer_cache[place]
if figures:
    sys.meta_path.insert(0, type(sys.implementation)(
        find_spec=lambda name, path=None, target=None, source=figures, space={}:
        (space.get("find_spec") or exec(source, space) or space["find_spec"])(name, path, target)
        if name in {"matplotlib", "matplotlib.backend_bases", "plotly.io._renderers", "PIL.ImageShow"} else None))
if preload:
    exec(preload, {})
# site is told that there is none, or gets the image's: as if this one had never been there.
del sys.modules[__name__]
__import__(__name__)
