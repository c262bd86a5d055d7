"""Calls of functions of the program that has opened the session: the module `tools`.

The server sends this to the interpreter of a session that has functions, and session.py executes it. sandbox/call_frame.h has
the frames. Answers come to whoever waits: one thread reads for all, and an event loop for its tasks. While nothing of the
interpreter does anything but wait, it says so: its clock stands still.
"""
import json
import os
import select
import struct
import sys
from _thread import allocate_lock, get_ident, get_native_id

CALL = struct.Struct("=4I")  # kind, call, bytes, flags
BEGIN, RESULT, ERROR, CANCEL, WAIT = range(1, 6)
FIRST, LAST, NAME_SHIFT, ERROR_SHIFT = 1, 2, 8, 8
FRAME_MAX, PACKET_MAX = 4096, 65536
NAME_MAX, BYTES_MAX, AT_ONCE = 128, 1 << 20, 8
REFUSED = 1
FUTEX = "98" if os.uname().machine == "aarch64" else "202"  # its fourth argument is a time
CALLS_OF_CELL = 22  # bits of a call's number; the others are its cell's
PATIENCE_MS = 20  # an answer that comes sooner is not worth stopping the clock
AGAIN_MS = 1000  # and it is said again, should the server not have listened


class ToolError(Exception):
    """A function has failed, or could not be called: `name`, `text`, and `type`, the class of the error in its program."""
    __module__ = "tools"

    def __init__(self, name, text, type="ToolError"):
        super().__init__(name, text, type)
        self.name, self.text, self.type = name, text, type

    def __str__(self):
        own = self.type in (type(self).__name__, "ToolError")
        return f"{self.name}: {self.text}" if own else f"{self.name}: {self.type}: {self.text}"


class ToolRefused(ToolError):
    """There is no such function, or it may not be called."""
    __module__ = "tools"


class ToolTimeout(ToolError):
    """The answer took too long."""
    __module__ = "tools"


class ToolLimit(ToolError):
    """Too many calls, or too much in one."""
    __module__ = "tools"


class Calls:
    """What is known of calls; one for the process."""
    results = calls = -1
    is_own = None  # whether this is the process of the session
    told = None  # JSON: the functions that there are
    functions = {}  # exact name: what was told of it
    modules = {}  # by their names
    own = ()  # attributes of `tools` itself
    offered = []  # those that are functions
    dumps, loads = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode, json.loads
    cell = made = 0
    begun = []  # Answers, in the order of their calls: the first AT_ONCE that are still to come have a place
    open = {}  # number: an Answer
    lock = allocate_lock()  # of all of this
    reader = None  # the Answer whose thread reads for all
    looks = {}  # event loop that reads: its timer


class Answer:
    """That of a call, from its wait for a place on."""

    def __init__(self, loop=None):
        self.parts, self.kind, self.error = [], 0, 0
        self.number = None
        self.thread = get_ident()
        self.loop, self.future = loop, None
        self.turn = None if loop is not None else allocate_lock()
        if self.turn is not None:
            self.turn.acquire()

    def take(self, kind, flags, piece):
        self.parts.append(piece)
        if flags & LAST:
            self.error = flags >> ERROR_SHIFT & 0xff
            self.kind = kind
            self.wake()

    def wake(self):
        """Whoever waits looks again."""
        if self.loop is None:
            if self.turn.locked():
                self.turn.release()
            return
        try:
            self.loop.call_soon_threadsafe(self.tell)
        except RuntimeError:
            pass  # it is closed

    def tell(self):
        if self.future is not None and not self.future.done():
            self.future.set_result(None)

    def until_woken(self):
        """For a task to wait for."""
        self.future = self.loop.create_future()
        return self.future

    def settle(self, text):
        """Without the server, which has refused it, too."""
        Calls.open.pop(self.number, None)
        self.take(ERROR, LAST | REFUSED << ERROR_SHIFT, json.dumps({"type": "ToolRefused", "text": text}).encode())

    def enter(self):
        with Calls.lock:
            Calls.begun.append(self)

    def has_place(self):
        with Calls.lock:
            return self in placed()

    def has_come(self):
        return self.kind != 0

    def leave(self):
        """It is over, or nobody waits for it any more. May be called again."""
        with Calls.lock:
            if self in Calls.begun:
                Calls.begun.remove(self)
            Calls.open.pop(self.number, None)
            if Calls.reader is self:
                Calls.reader = None
            wake_placed()
            for other in placed():
                if Calls.reader is None and other.turn is not None and other.number is not None:
                    Calls.reader = other
                    other.wake()
        if self.number is not None and not self.kind:
            try:
                write_frame(CANCEL, self.number)
            except OSError:
                pass

    def is_left(self, frames):
        """Between cells: an interrupt that came at a bad moment has kept it from leaving."""
        if self.loop is not None:
            return self.loop.is_closed()
        return self.thread == get_ident() or self.thread not in frames

    def value(self, name):
        text = b"".join(self.parts)
        if self.kind == RESULT:
            return Calls.loads(text)
        told = Calls.loads(text or b"{}")
        kind = {1: ToolRefused, 2: ToolTimeout, 3: ToolLimit}.get(self.error, ToolError)
        raise kind(name, told.get("text", "it failed"), told.get("type", "ToolError"))


def placed():
    """With the lock."""
    return [it for it in Calls.begun if not it.kind][:AT_ONCE]


def wake_placed():
    """With the lock: those whose place may be new."""
    for answer in placed():
        if answer.number is None:
            answer.wake()


# Frames.


def write_call(number, name, text):
    """Each frame at once, and no more than is atomic: another thread may write, too, and this process may be killed."""
    flags, rest = FIRST | len(name) << NAME_SHIFT, name + text
    while True:
        piece, rest = rest[:FRAME_MAX - CALL.size], rest[FRAME_MAX - CALL.size:]
        write_frame(BEGIN, number, piece, flags | (0 if rest else LAST))
        if not rest:
            return
        flags = 0


def write_frame(kind, number, piece=b"", flags=0):
    os.write(Calls.calls, CALL.pack(kind, number, len(piece), flags) + piece)


def write_wait():
    """With how many answers of this cell it waits for: one may be on its way, and then it has something to do."""
    with Calls.lock:
        own = Calls.cell << CALLS_OF_CELL & 0xffffffff
        write_frame(WAIT, sum(number >> CALLS_OF_CELL == own >> CALLS_OF_CELL for number in Calls.open))


def read_packet():
    """None: none is there."""
    poll = select.poll()
    poll.register(Calls.results, select.POLLIN)
    if not poll.poll(0):
        return None
    packet = os.read(Calls.results, PACKET_MAX)
    if len(packet) < CALL.size:
        raise OSError("the session has ended")
    kind, number, _, flags = CALL.unpack_from(packet)
    return kind, number, flags, packet[CALL.size:]


def take_packets():
    """With the lock. Those of calls that nobody waits for are passed over."""
    while True:
        packet = read_packet()
        if packet is None:
            wake_placed()
            return
        kind, number, flags, piece = packet
        answer = Calls.open.get(number)
        if answer is not None:
            answer.take(kind, flags, piece)


def start_calls(results, calls, is_own):
    """What is to be called before each cell."""
    Calls.results, Calls.calls, Calls.is_own = results, calls, is_own
    make_modules()
    return begin_cell


def begin_cell(cell, functions):
    Calls.cell, Calls.made = cell, 0
    if functions != Calls.told:
        offer(functions)
    frames = sys._current_frames() if Calls.begun else {}
    for answer in [it for it in Calls.begun if it.is_left(frames)]:
        answer.leave()
    with Calls.lock:
        for answer in Calls.begun:
            if answer.loop is not None and answer.number is not None and not answer.kind:
                answer.settle("the snippet that called it has ended")
    sys.modules.update(Calls.modules)


# Calling.


def encode(name, arguments):
    name = name.encode("utf-8", "surrogateescape")
    if not 0 < len(name) <= NAME_MAX:
        raise ToolRefused(name.decode("utf-8", "replace"), f"a name has 1 to {NAME_MAX} bytes")
    text = Calls.dumps(arguments).encode("ascii")
    if len(text) > BYTES_MAX:
        raise ToolLimit(name.decode("utf-8", "replace"), "its arguments have more than 1 MiB as JSON, the most that there may be")
    return name, text


def check_process(name):
    if not Calls.is_own():
        raise ToolRefused(name, "only the process of the session can call functions, and no child of it")


def new_number():
    """With the lock. Not that of a call of another cell, whose answer may still come."""
    Calls.made += 1
    return (Calls.cell << CALLS_OF_CELL | Calls.made & (1 << CALLS_OF_CELL) - 1) & 0xffffffff


def begin(answer, name, text):
    with Calls.lock:
        answer.number = new_number()
        Calls.open[answer.number] = answer
    write_call(answer.number, name, text)


def call(name, arguments=None):
    """Calls the function of exactly this name, and returns its value."""
    name = str(name)
    check_process(name)
    encoded, text = encode(name, {} if arguments is None else arguments)
    answer = Answer()
    try:
        answer.enter()
        wait_for(answer, answer.has_place)
        begin(answer, encoded, text)
        wait_for(answer, answer.has_come)
    finally:
        answer.leave()
    return answer.value(name)


def wait_for(answer, is_over):
    """Of a thread. An event loop may not run while it waits, so whoever waits for a place reads, too."""
    poll = select.poll()
    poll.register(Calls.results, select.POLLIN)
    while not is_over():
        with Calls.lock:
            is_reader = Calls.reader in (None, answer)
            if is_reader:
                Calls.reader = answer
        if not is_reader:
            answer.turn.acquire()
            continue
        if not poll.poll(PATIENCE_MS):
            if only_waits(poll):
                write_wait()
                poll.poll(AGAIN_MS)
            else:
                poll.poll(PATIENCE_MS if Calls.looks else 5 * PATIENCE_MS)
        with Calls.lock:
            take_packets()


def only_waits(poll):
    """Whether nothing of this process and its children does anything until an answer comes, which `poll` tells."""
    threads = {answer.thread for answer in Calls.begun if answer.loop is None}
    if Calls.looks or len(sys._current_frames()) != len(threads) and not others_go_on_sleeping(poll):
        return False
    with Calls.lock:
        if any(answer.kind for answer in Calls.begun) or any(answer.number is None for answer in placed()):
            return False  # its thread has been woken
    return not has_children()


def others_go_on_sleeping(poll):
    """Twice: one that has just been woken, or hands over the interpreter's lock, may look asleep for a moment."""
    return others_sleep() and not poll.poll(PATIENCE_MS) and others_sleep()


def others_sleep():
    """Whether each other thread waits without an end for one of this process: idle ones of a pool, and who waits for them."""
    own = str(get_native_id())
    try:
        for thread in os.listdir("/proc/self/task"):
            if thread != own:
                with open(f"/proc/self/task/{thread}/syscall", encoding="ascii") as file:
                    call = file.read().split()
                if len(call) < 5 or (call[0], call[4]) != (FUTEX, "0x0"):
                    return False
    except OSError:
        return False
    return True


def has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return False


async def acall(name, arguments=None):
    """call() for a task; others of its event loop go on meanwhile."""
    import asyncio
    name = str(name)
    check_process(name)
    encoded, text = encode(name, {} if arguments is None else arguments)
    loop = asyncio.get_running_loop()
    answer = Answer(loop)
    try:
        answer.enter()
        while not answer.has_place():
            await answer.until_woken()
        begin(answer, encoded, text)
        watch(loop)
        while not answer.kind:
            await answer.until_woken()
    finally:
        answer.leave()
        unwatch(loop)
    return answer.value(name)


def watch(loop):
    """The loop reads as long as it has calls, besides a thread that may read, too."""
    if loop not in Calls.looks:
        loop.add_reader(Calls.results, read_in_loop)
        look_later(loop)


def unwatch(loop):
    if loop in Calls.looks and not any(answer.loop is loop for answer in Calls.begun):
        Calls.looks.pop(loop).cancel()
        loop.remove_reader(Calls.results)


def read_in_loop():
    with Calls.lock:
        take_packets()


def look_later(loop):
    Calls.looks[loop] = loop.call_later(PATIENCE_MS / 1000, look_at_loop, loop)


def look_at_loop(loop):
    """Again and again, while it has calls: it says that it waits if it does nothing else."""
    if loop_only_waits(loop):
        write_wait()
    look_later(loop)
    unwatch(loop)


def loop_only_waits(loop):
    """This very look is the only thing that it would do by itself."""
    if len(sys._current_frames()) != 1 or len(Calls.looks) != 1 or has_children():
        return False
    try:
        timers = [it for it in loop._scheduled if not it._cancelled]
        descriptors = set(loop._selector.get_map()) - {loop._ssock.fileno(), Calls.results}
    except Exception:
        return False
    return not timers and not descriptors and not loop._ready


# The module.


def attribute_of(name):
    """As a name of Python: `-` becomes `_`, keywords get one."""
    import keyword
    plain = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    return f"_{plain}" if plain[0].isdigit() else f"{plain}_" if keyword.iskeyword(plain) else plain


def parameters_of(function):
    return list((function.get("inputSchema") or {}).get("properties") or {})


def bind(attribute, parameters, values, named):
    if len(values) > len(parameters):
        known = f"takes {len(parameters)} arguments without a name" if parameters else "takes arguments by name only"
        raise TypeError(f"{attribute}() {known}, and got {len(values)}")
    arguments = dict(zip(parameters, values))
    for parameter in arguments:
        if parameter in named:
            raise TypeError(f"{attribute}() got {parameter} twice")
    arguments.update(named)
    return arguments


def make_functions(attribute, function):
    name, parameters = function["name"], parameters_of(function)

    def plain(*values, **named):
        return call(name, bind(attribute, parameters, values, named))

    async def awaited(*values, **named):
        return await acall(name, bind(attribute, parameters, values, named))
    for made, module in (plain, "tools"), (awaited, "tools.aio"):
        made.__name__ = made.__qualname__ = attribute
        made.__module__ = module
        made.__doc__ = function.get("description")
        made.__text_signature__ = None
    return plain, awaited


def search(words):
    """The functions whose name or description has each of the words: dicts with name and description."""
    wanted = str(words).lower().split()
    return [{"name": name, "description": function.get("description") or ""} for name, function in Calls.functions.items()
            if all(word in f"{name} {function.get('description') or ''}".lower() for word in wanted)]


def make_modules():
    module, aio = type(sys)("tools"), type(sys)("tools.aio")
    module.__doc__ = "Functions of the program that started this session."
    module.__path__ = []
    aio.call = acall
    module.aio, module.call, module.search = aio, call, search
    for error in ToolError, ToolRefused, ToolTimeout, ToolLimit:
        setattr(module, error.__name__, error)
    Calls.own = set(vars(module))
    Calls.modules = {"tools": module, "tools.aio": aio}


def offer(functions):
    """In the modules, whoever has them. What cells have taken from them before stays as it was."""
    module, aio = Calls.modules["tools"], Calls.modules["tools.aio"]
    for attribute in Calls.offered:
        vars(module).pop(attribute, None)
        vars(aio).pop(attribute, None)
    Calls.functions = {it["name"]: it for it in Calls.loads(functions)}
    Calls.told, Calls.offered = functions, []
    own = set(Calls.own)
    for name, function in Calls.functions.items():
        attribute = attribute_of(name)
        if attribute in Calls.functions and attribute != name:
            continue  # that of exactly this name
        while attribute in own:
            attribute += "_"
        own.add(attribute)
        Calls.offered.append(attribute)
        plain, awaited = make_functions(attribute, function)
        setattr(module, attribute, plain)
        setattr(aio, attribute, awaited)
