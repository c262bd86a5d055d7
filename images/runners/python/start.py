# The one line that Python executes at its start, before any code of the run: it takes the program of
# figures.py into memory, removes every trace of itself and leaves a finder at the front of
# sys.meta_path. The program is compiled when the snippet imports one of the modules in question; all
# others pay for a look-up in a set. No compound statement and few words: every run compiles this.
import encodings, os, site, sys
place = site.USER_SITE
file = open(place + "/figures.py", "rb")
source = file.read()
file.close()
os.remove(place + "/figures.py")
os.remove(place + "/start.pth")
os.removedirs(place)
sys.path.remove(place)
# Since 3.13 a module is imported to read a .pth file. (With one of the image, it would have been, too.)
sys.modules.pop("encodings.utf_8_sig", None) and delattr(encodings, "utf_8_sig")
sys.meta_path.insert(0, type(sys.implementation)(
    find_spec=lambda name, path=None, target=None, source=source, space={}:
    (space.get("find_spec") or exec(source, space) or space["find_spec"])(name, path, target)
    if name in {"matplotlib", "matplotlib.backend_bases", "code_sandbox_figures", "PIL.ImageShow"} else None))
