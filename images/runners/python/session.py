"""The interpreter of a session: runs the cells that the server sends, one after another, in one module __main__.

The descriptors and frames are those of CHANNEL and CODE below; docs/design.md has the protocol. A cell
may forge all of it, and then lies about itself only. What a cell breaks by accident (streams,
descriptors, builtins, hooks) must neither end the session nor reach the next cell.

An interrupt is SIGINT, and after a while SIGURG, bound to a cell by its number in the control block.
KeyboardInterrupt is raised in and below enter() only, so that the runner itself is never interrupted.
"""
import builtins

__builtins__ = dict(vars(builtins))  # of the runner: a cell may redefine those that everybody has

import _signal
import fcntl
import linecache
import os
import struct
import sys
import traceback
from cells import COROUTINE, complete, is_of_cell, without_runner
from checkpoints import Standing, keep_state, load_fork
from notebook import add_user_site, compile_notebook, shell
from io import BufferedReader, BufferedWriter, FileIO, StringIO, TextIOWrapper

CHANNEL, CODE, ANSWERS = 3, 4, 5  # inherited
RESULTS, CALLS = 6, 7  # the same, if cells can call functions
CODE_OFFSET = 16  # behind the control block, which has the number of their bytes at FUNCTIONS_OFFSET
FUNCTIONS_OFFSET = 8
FRAME = struct.Struct("=4I")  # kind, cell, a, b
RUN, END, READY, DONE, CHECKPOINT = 1, 3, 16, 17, 18
HAS_CALLS = 1 << 31  # of RUN, beside the KiB of files in a copy: functions are behind the code
PACKET, PACKET_MAX, LAST = struct.Struct("=4I"), 65536, 2  # of RESULTS
FINISHED, FAILED, INTERRUPTED, EXITED = 0, 1, 2, 3
NAMES = "stdin", "stdout", "stderr"
BLANKS = " \t\n\v\f\r"  # that the server leaves out at the end
DESCRIPTORS_FROM = 200  # where the runner keeps its own, so that a cell's first is 3, as in a script

class State:
    """What the runner knows; one for the process."""
    process = 0  # its id; not that of a child forked by a cell
    is_copying = False  # it forks for a checkpoint
    channel = code = answers = -1
    cell = 0  # that an interrupt may hit, or 0
    interrupted = False
    copied = b""  # a frame CHECKPOINT, sent with the next
    shown = 0  # bytes that show the value of this cell
    futures = 0  # flags of __future__ that cells have set
    main = None  # the module of all cells
    loop = None  # of top-level await
    kept = {}  # standard descriptor: a copy of it
    identities = {}  # standard descriptor: device and inode
    streams = {}  # name in sys: the runner's own object
    other = None  # in the place of sys.stdout, and told
    options = {}  # name in sys: how that is opened
    user_site = None  # its directory
    calling = ()  # descriptors of calls
    begin_calls = None  # of calls.py
    finder = None  # of start.py
    figures = None  # the name space of figures.py


def enter(function, *arguments):
    """Code of the cell, or what may call it. Only here, and below, an interrupt is raised."""
    if State.interrupted:
        raise KeyboardInterrupt
    return function(*arguments)


def cell_to_interrupt():
    return int.from_bytes(os.pread(State.code, 4, 0), sys.byteorder)


def on_interrupt(number, frame):
    if os.getpid() != State.process:
        raise KeyboardInterrupt  # in a child of the cell, as everywhere
    if State.cell == 0 or cell_to_interrupt() != State.cell:
        return
    State.interrupted = True
    while frame is not None:
        if frame.f_code is enter.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back


def on_insistence(number, frame):
    """One that the cell has had is not repeated: it may be cleaning up."""
    if os.getpid() == State.process and not State.interrupted:
        on_interrupt(number, frame)


# Start.


def keep(descriptor):
    """A copy that the cells' programs do not inherit and that `os.closerange(3, 100)` does not meet."""
    for lowest in (DESCRIPTORS_FROM, 16, 5):
        try:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            pass
    return os.dup(descriptor)


def listen():
    """SIGURG follows an interrupt that was not heeded: SIGINT is lost while system(3) waits for its child."""
    _signal.signal(_signal.SIGINT, on_interrupt)
    _signal.signal(_signal.SIGURG, on_insistence)


def identity_of(descriptor):
    try:
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino
    except OSError:
        return None


def start():
    State.process = os.getpid()
    State.channel, State.code, State.answers = keep(CHANNEL), keep(CODE), keep(ANSWERS)
    for descriptor in CHANNEL, CODE, ANSWERS:
        os.close(descriptor)
    listen()
    load_fork()
    os.register_at_fork(after_in_child=leave_to_parent)
    for descriptor in 0, 1, 2:
        State.identities[descriptor] = identity_of(descriptor)
        if State.identities[descriptor] is not None:
            State.kept[descriptor] = keep(descriptor)
    for name in NAMES:
        State.streams[name] = getattr(sys, name)
        State.options[name] = options_of(State.streams[name])
    State.main = type(sys)("__main__")
    State.main.__builtins__ = builtins
    sys.argv = [""]
    if sys.path and "__file__" in GLOBALS and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    if not sys.path or sys.path[0] != "":
        sys.path.insert(0, "")
    sys.displayhook = show_value
    builtins.display, builtins.__shell__ = display, shell
    State.user_site = add_user_site()
    # The finder of start.py carries the name space of figures.py, filled when that is executed.
    for finder in sys.meta_path:
        if type(finder) is type(sys.implementation):
            State.finder, State.figures = finder, finder.find_spec.__defaults__[-1]


def leave_to_parent():
    """In a forked child, where the session ends with the cell."""
    if State.is_copying:
        return
    for descriptor in State.channel, State.code, State.answers, *State.calling, *State.kept.values():
        try:
            os.close(descriptor)
        except OSError:
            pass


# Streams and descriptors.


def open_stream(name):
    descriptor = NAMES.index(name)
    raw = FileIO(descriptor, "r" if name == "stdin" else "w", closefd=False)
    raw.name = f"<{name}>"
    buffer = BufferedReader(raw) if name == "stdin" else BufferedWriter(raw)
    stream = TextIOWrapper(buffer, **State.options[name])
    stream.mode = "r" if name == "stdin" else "w"
    return stream


def options_of(stream):
    if stream is None:
        return {"encoding": "utf-8"}
    options = {"encoding": stream.encoding, "errors": stream.errors, "line_buffering": stream.line_buffering}
    return {**options, "write_through": stream.write_through}


def is_open(stream):
    try:
        return not stream.closed
    except (AttributeError, ValueError):  # None, or detached
        return False


def is_usable(stream, method="write"):
    """Of any object that a cell may have put into sys."""
    try:
        return callable(getattr(stream, method, None)) and not getattr(stream, "closed", False)
    except Exception:
        return False


def prepare_streams():
    """A new sys.stdin; the others as the cells have left them, unless nothing can be written to them."""
    former = State.streams["stdin"]
    State.streams["stdin"] = sys.__stdin__ = open_stream("stdin")
    current = getattr(sys, "stdin", None)
    if current is former or not is_usable(current, "read"):
        sys.stdin = sys.__stdin__
    for name in "stdout", "stderr":
        if not is_open(State.streams[name]):
            State.streams[name] = open_stream(name)
            setattr(sys, f"__{name}__", State.streams[name])
        current = getattr(sys, name, None)
        if current is not State.streams[name] and not is_usable(current):
            setattr(sys, name, State.streams[name])


def is_elsewhere(stream):
    try:
        return type(stream) is StringIO or type(stream) is TextIOWrapper and stream.fileno() not in State.kept
    except (OSError, ValueError):
        return False


def tell_of_other_stdout():
    """Once for each: a result without what was printed looks as if nothing was. Others may pass it on."""
    stream = getattr(sys, "stdout", None)
    if stream is State.streams["stdout"] or stream is State.other or not is_elsewhere(stream):
        return
    State.other = stream
    print("sys.stdout was replaced: print() writes there, not to the result. sys.stdout = sys.__stdout__ undoes it.",
          file=State.streams["stderr"])


def flush_streams_of_cell():
    for stream in getattr(sys, "stdout", None), getattr(sys, "stderr", None):
        if stream is not State.streams["stdout"] and stream is not State.streams["stderr"] and \
                is_usable(stream, "flush"):
            stream.flush()


def flush_own_streams():
    """What is written to a closed descriptor comes out all the same; restored, it is written."""
    for descriptor, name in (1, "stdout"), (2, "stderr"):
        try:
            State.streams[name].flush()
        except (OSError, ValueError):
            restore(descriptor)
            try:
                State.streams[name].flush()
            except (OSError, ValueError):
                pass
        restore(descriptor)
    restore(0)


def restore(descriptor):
    """A standard descriptor that a cell has closed or redirected."""
    if State.identities[descriptor] is not None and identity_of(descriptor) != State.identities[descriptor]:
        os.dup2(State.kept[descriptor], descriptor)


# Values.


class Text:
    """What repr() gives."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def show_value(value):
    """sys.displayhook: as in Python; a picture is shown, too."""
    if value is None:
        return
    text = repr(value)
    original_displayhook(Text(text))
    builtins._ = value
    if sys.stdout is State.streams["stdout"]:
        State.shown = len(str.encode(str.rstrip(text, BLANKS), "utf-8", "backslashreplace"))
    show_picture(value)


def display(*values):
    """Shows values, as that of the last line of a cell is shown."""
    for value in values:
        print(repr(value))
        show_picture(value)


def may_be_picture(value):
    """Or a page, of what has no text of its own."""
    has_own = [name for name in ("_repr_png_", "_repr_svg_", "_repr_html_") if hasattr(type(value), name)]
    return "_repr_png_" in has_own or "matplotlib.figure" in sys.modules or "plotly.basedatatypes" in sys.modules or \
        has_own and type(value).__repr__ is object.__repr__


def show_picture(value):
    if State.figures is None or not may_be_picture(value):
        return
    State.figures.get("show_value") or State.finder.find_spec("PIL.ImageShow")
    State.figures["show_value"](value)


# A cell.


def execute(source, name):
    try:
        codes, State.futures = compile_notebook(source, name, State.futures)
    except SyntaxError as error:
        complete(error, source, name)
        raise error.with_traceback(None) from None
    if any(code.co_flags & COROUTINE for code in codes):
        return wait_for(await_all(codes))
    for code in codes:
        exec(code, State.main.__dict__)


async def await_all(codes):
    for code in codes:
        value = eval(code, State.main.__dict__)
        if code.co_flags & COROUTINE:
            await value


def wait_for(coroutine):
    """Top-level await. The loop is that of all cells; it runs only meanwhile."""
    import asyncio
    if State.loop is None or State.loop.is_closed():
        State.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(State.loop)
    task = State.loop.create_task(coroutine)
    try:
        State.loop.run_until_complete(task)
    except BaseException as error:
        if not task.done() and not cancel(task):
            State.loop = None  # it has lost its descriptors, say
        if task.cancelled() and isinstance(error, KeyboardInterrupt):
            raise error.with_traceback(where_cancelled(task) or error.__traceback__)
        if task.done() and not task.cancelled():
            task.exception()  # so that nobody complains that it was never looked at
        raise


def cancel(task):
    """With time for its `finally`, but not for ever. Whether the loop still works."""
    task.cancel()
    try:
        for _ in range(8):
            if not task.done():
                State.loop.call_soon(State.loop.stop)
                State.loop.run_forever()
        return True
    except Exception:
        return False


def where_cancelled(task):
    try:
        task.result()
    except BaseException as error:
        while error is not None:
            entry = error.__traceback__
            while entry is not None:
                if is_of_cell(entry):
                    return entry
                entry = entry.tb_next
            error = error.__context__
    return None


def prepare(number, source):
    name = f"<cell {number}>"
    lines[name] = len(source), None, [line + "\n" for line in source.split("\n")], name
    sys.modules.update(__main__=State.main, builtins=builtins, sys=sys)
    names = State.main.__dict__
    names["__builtins__"] = builtins
    names.setdefault("__name__", "__main__")
    names.pop("__warningregistry__", None)  # else the same line of another cell would not warn
    if not callable(getattr(sys, "displayhook", None)):
        sys.displayhook = show_value
    notice_new_modules()
    prepare_streams()
    return name


def notice_new_modules():
    """One written since the last look into the directory may be younger than its clock shows."""
    for directory in os.getcwd, lambda: State.user_site:
        try:
            sys.path_importer_cache[directory()].invalidate_caches()
        except Exception:
            pass


def finish():
    """What belongs to the cell but may take long, or call code of it."""
    if State.figures is not None and "end_cell" in State.figures:
        State.figures["end_cell"]()
    flush_streams_of_cell()
    tell_of_other_stdout()


def run(number, source):
    """Status and detail of DONE."""
    listen()
    State.interrupted = False
    State.shown = 0
    State.cell = number
    if cell_to_interrupt() == number:  # the signal may have come before
        State.interrupted = True
    status, detail = attempt(lambda: execute(source, prepare(number, source)))
    if os.getpid() != State.process:
        return status, detail
    more, _ = attempt(finish)
    State.cell = 0
    return (more, 0) if status == FINISHED and more in (FAILED, INTERRUPTED) else (status, detail)


def attempt(function):
    try:
        enter(function)
        State.interrupted = False
        return FINISHED, State.shown
    except SystemExit as error:
        State.interrupted = False
        return EXITED, exit_code(error)
    except BaseException as error:
        status = INTERRUPTED if State.interrupted else FAILED
        State.interrupted = False
        tell(error)
        return status, 0


def exit_code(error):
    """As Python's own, which writes what is no number to stderr."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xff if -2 ** 63 <= code < 2 ** 63 else 255
    try:
        enter(lambda: print(code, file=stderr()))
    except BaseException:
        pass
    return 1


# Errors.


def tell(error):
    """Whatever a cell raises is told, if need be by its class only."""
    try:
        enter(tell_whole, error)
    except BaseException:
        State.interrupted = False
        try:
            flush_own_streams()
            os.write(State.kept[2], f"{type.__getattribute__(type(error), '__name__')} "
                                    "(its traceback cannot be shown)\n".encode("utf-8", "replace"))
        except BaseException:
            pass


def tell_whole(error):
    without_runner(error)
    kind, trace = type(error), error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    if callable(hook) and hook is not sys.__excepthook__:
        try:
            return hook(kind, error, trace)
        except Exception as another:
            without_runner(another)
            traceback.print_exception(type(another), another, another.__traceback__, file=stderr())
    traceback.print_exception(kind, error, trace, file=stderr())


def stderr():
    """The runner's own: what a cell has put in its place may be None, or swallow all."""
    if not is_open(State.streams["stderr"]):
        State.streams["stderr"] = open_stream("stderr")
    return State.streams["stderr"]


# The session.


def read_frame():
    """None at the end."""
    while True:
        try:
            frame = os.read(State.channel, FRAME.size + 1)
        except OSError as error:
            raise SystemExit(f"The session cannot go on without its descriptors: {error}")
        if not frame:
            return None
        if len(frame) == FRAME.size:
            kind, cell, length, wish = FRAME.unpack(frame)
            if kind == END:
                return None
            if kind == RUN and cell != 0:
                return cell, length, wish


def begin_calls(number, functions):
    """The program for it comes over their channel."""
    if State.begin_calls is None:
        State.calling = keep(RESULTS), keep(CALLS)
        os.close(RESULTS)
        os.close(CALLS)
        space = {"__builtins__": __builtins__, "__name__": "tools"}
        exec(compile(read_message(), "<tools>", "exec"), space)
        State.begin_calls = space["start_calls"](*State.calling, lambda: os.getpid() == State.process)
    State.begin_calls(number, functions)


def read_message():
    parts, flags = [], 0
    while not flags & LAST:
        packet = os.read(State.calling[0], PACKET_MAX)
        _, _, _, flags = PACKET.unpack_from(packet)
        parts.append(packet[PACKET.size:])
    return b"".join(parts)


def read_memory(length, offset):
    found = b""
    while len(found) < length:
        part = os.pread(State.code, length - len(found), offset + len(found))
        if not part:
            break
        found += part
    return found


def read_code(length):
    text = read_memory(length, CODE_OFFSET).decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return text[1:] if text.startswith("\ufeff") else text


def send(kind, *numbers):
    frames, State.copied = State.copied + FRAME.pack(kind, *numbers), b""
    try:
        os.write(State.answers, frames)
    except OSError as error:
        raise SystemExit(f"The session cannot go on without its descriptors: {error}")


def serve():
    """The exit code."""
    start()
    send(READY, 0, 0, 0)
    while True:
        wanted = read_frame()
        if wanted is None:
            return 0
        number, length, wish = wanted
        try:
            if wish & HAS_CALLS:
                functions = int.from_bytes(read_memory(4, FUNCTIONS_OFFSET), sys.byteorder)
                begin_calls(number, read_memory(functions, CODE_OFFSET + length))
            status, detail = run(number, read_code(length))
        except BaseException:  # of a function that traces, say
            status, detail = FAILED, 0
        if os.getpid() != State.process:  # forked by the cell: ends as a script does
            return detail if status == EXITED else int(status != FINISHED)
        State.cell = 0
        flush_own_streams()
        room = wish & ~HAS_CALLS
        if room and keep_state(number, room << 10):
            send(READY, number, Standing.came_back, 0)
        else:
            send(DONE, number, status, detail)


GLOBALS = globals()
lines = linecache.cache
__import__("warnings")  # which shows them with the line of the cell; Python's own part of it does not
original_displayhook = sys.displayhook
# Before 3.10 a function has the builtins of its module's frame if that is what calls it.
result = {}
exec("code = serve()", {"serve": serve, "__builtins__": __builtins__}, result)
sys.exit(result["code"])
