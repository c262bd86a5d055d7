"""What Python tells a program of itself, and of where it runs."""

from snippet import FIGURES, PIDS, WALLS, exactly, lines

SNIPPETS = {
    "arguments": exactly("import sys; print(sys.argv, sys.orig_argv, sys.executable)"),
    "names of main": lines("""
        print(__file__, __name__, __doc__, __package__, __spec__, __builtins__.__name__)
        print(sorted(globals()), type(__loader__).__name__, __loader__.name, __loader__.path)
        """),
    "loader": lines("""
        print(__loader__.get_source("__main__"), __loader__.is_package("__main__"))
        print(__loader__.get_code("__main__").co_filename, __loader__.path_stats("main.py")["size"])
        """),
    "modules": exactly("import sys; print(sorted(sys.modules))"),
    "main is a module": lines("""
        import __main__, sys
        print(__main__ is sys.modules["__main__"], __main__, vars(__main__) is globals())
        """),
    "flags": lines("""
        import sys
        print(sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode, sys.pycache_prefix)
        """),
    "path": lines("""
        import sys
        print(sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.platlibdir)
        print([finder.__name__ for finder in sys.meta_path[-3:]], len(sys.path_hooks))
        """),
    "finders": lines("""
        import sys
        print(len(sys.meta_path), [getattr(finder, "__name__", type(finder)) for finder in sys.meta_path])
        """, jailed=FIGURES),
    "importers": lines("""
        import sys
        for path, importer in sorted(sys.path_importer_cache.items()):
            print(path, importer)
        """),
    "implementation": lines("""
        import sys
        print(sys.version, sys.implementation, sys.hash_info, sys.float_info, sys.thread_info)
        print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.getprofile())
        print(sys.is_finalizing(), sys.get_int_max_str_digits(), sys.getdlopenflags())
        """),
    "garbage": exactly("import gc; print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.callbacks)"),
    "encodings": lines("""
        import codecs, locale, sys
        print(sys.getdefaultencoding(), sys.getfilesystemencoding(), locale.getpreferredencoding())
        print(sys.getfilesystemencodeerrors(), locale.setlocale(locale.LC_ALL), locale.localeconv())
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            print(stream.encoding, stream.errors, stream.newlines, stream.name, stream.mode)
        """),
    "streams": lines("""
        import os, stat, sys
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            print(type(stream), type(stream.buffer), stream.line_buffering, stream.write_through)
            print(stream.isatty(), stream.fileno(), stream.closed, stream.seekable())
            print(oct(stat.S_IFMT(os.fstat(stream.fileno()).st_mode)), os.get_blocking(stream.fileno()))
        """),
    "descriptors": lines("""
        import fcntl, os
        for number in sorted(os.listdir("/proc/self/fd"), key=int):
            try:
                name, fd = os.readlink(f"/proc/self/fd/{number}").split("[")[0], int(number)
                print(number, name, fcntl.fcntl(fd, fcntl.F_GETFD), fcntl.fcntl(fd, fcntl.F_GETFL))
            except OSError as error:
                print(number, error)
        """),
    "command line": lines("""
        import sys
        print(open("/proc/self/cmdline", "rb").read(), open("/proc/self/comm").read())
        """),
    "maps": lines("""
        files = {line.split()[5] for line in open("/proc/self/maps") if len(line.split()) > 5}
        print(sorted(files))
        """),
    "environment": lines("""
        import os
        print(sorted(os.environ.items()))
        print(open("/proc/self/environ", "rb").read())
        """),
    "ids of processes": lines("""
        import os
        print(os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0), os.cpu_count() > 0)
        print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))
        """, jailed=PIDS),
    "its session": lines("""
        import os
        print(os.getsid(0) == os.getpid() == os.getpgid(0), os.getresuid(), os.getresgid())
        """),
    "threads": lines("""
        import os, threading
        print(os.listdir("/proc/self/task") == [str(os.getpid())], threading.enumerate()[0].name)
        print(threading.main_thread().ident == threading.get_ident(), threading.active_count())
        """),
    "work directory": lines("""
        import os
        print(os.getcwd())
        for entry in sorted(os.scandir("."), key=lambda entry: entry.name):
            status = entry.stat(follow_symlinks=False)
            print(entry.name, oct(status.st_mode), status.st_size, status.st_nlink, status.st_uid)
        """),
    "status of its file": lines("""
        import os
        status = os.stat(__file__)
        print(oct(status.st_mode), status.st_nlink, status.st_size, os.access(__file__, os.W_OK))
        print(status.st_mtime <= __import__("time").time())
        """),
    "writable directories": lines("""
        import os
        for path in ("/work", "/tmp", os.environ["HOME"], "/dev/shm", "/"):
            print(path, oct(os.stat(path).st_mode), sorted(os.listdir(path)))
        """, jailed=WALLS),
    "mask of modes": lines("""
        import os
        open("new", "w").close(); os.mkdir("folder")
        print(oct(os.stat("new").st_mode), oct(os.stat("folder").st_mode), oct(os.umask(0)))
        """),
    "resource limits": lines("""
        import resource
        for name in sorted(vars(resource)):
            if name.startswith("RLIMIT_"):
                print(name, resource.getrlimit(getattr(resource, name)))
        """, jailed=WALLS),
    "mounts": lines("""
        for line in open("/proc/self/mountinfo"):
            print(line.split()[3:])
        """, jailed=WALLS),
    "signals of the process": lines("""
        for line in open("/proc/self/status"):
            if line.startswith(("Sig", "Shd", "Threads", "Umask", "Name", "TracerPid")):
                print(line, end="")
        """, jailed=WALLS),  # SigQ has the limit of signals
    "privileges of the process": lines("""
        for line in open("/proc/self/status"):
            if line.startswith(("Cap", "NoNew", "Seccomp", "Spec", "Uid", "Gid", "Groups", "NS")):
                print(line, end="")
        """, jailed=WALLS),
    "scheduling": lines("""
        import os
        print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), len(os.sched_getaffinity(0)) > 0)
        print(open("/proc/self/oom_score_adj").read(), open("/proc/self/timerslack_ns").read())
        """, jailed=WALLS),
    "signal handlers": lines("""
        import signal
        for number in sorted(signal.valid_signals()):
            handler = signal.getsignal(number)
            print(number, getattr(handler, "__name__", handler))
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
        print(signal.getitimer(signal.ITIMER_REAL))
        """),
    # Without 32 and 33: glibc's posix_spawn(), as called by make, ignores them for the tests themselves.
    "masks of signals": lines("""
        for line in open("/proc/self/status"):
            name, _, mask = line.partition(":")
            if name in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"):
                print(name, hex(int(mask, 16) & ~(3 << 31)))
        """),
    "parent": lines("""
        print(open("/proc/1/comm").read(), open("/proc/1/cmdline", "rb").read().strip(b"\\0"))
        print(open("/proc/3/comm").read())
        """, jailed=PIDS),
    "host": lines("""
        import os, socket
        print(os.uname().nodename, socket.gethostname(), socket.if_nameindex())
        """, jailed=WALLS),
    "time": lines("""
        import time
        print(time.tzname, time.timezone, time.daylight, 0 < time.process_time() < 60)
        print(type(time.time()).__name__, time.get_clock_info("monotonic").implementation)
        """),
    "seeded chance": lines("""
        import random
        random.seed(7)
        print([random.random() for _ in range(3)], random.sample(range(100), 5))
        """),
    "numbers": lines("""
        import numpy
        generator = numpy.random.default_rng(5)
        print(generator.random(3), numpy.arange(6).reshape(2, 3) @ numpy.ones(3))
        """),
    "frames": lines("""
        import sys
        frame = sys._getframe()
        print(frame.f_lineno, frame.f_back, frame.f_code.co_filename, frame.f_code.co_name)
        print(frame.f_code.co_firstlineno, frame.f_globals is globals() is frame.f_locals)
        """),
    "memory of the process": lines("""
        import tracemalloc, sys
        print(tracemalloc.is_tracing(), sys.getsizeof(""), sys.getrefcount(None) > 0)
        """),
    "limits of integers": exactly("print(2 ** 5000 % 997)\nint('1' * 5000)"),
    "standard input at its end": lines("""
        import sys
        print(repr(sys.stdin.read()), sys.stdin.buffer.read(), sys.stdin.readline() == "")
        """),
    "input at its end": exactly("print('before')\nname = input('name? ')\nprint('never')\n"),
    "standard input with select": lines("""
        import select, sys
        print(select.select([sys.stdin], [], [], 5)[0] == [sys.stdin])
        """),
    "warnings filters": exactly("import warnings; print(warnings.filters, warnings.showwarning.__module__)"),
    "site": exactly("import site; print(site.ENABLE_USER_SITE, site.getsitepackages(), site.USER_SITE)"),
    "platform": exactly("import platform; print(platform.python_version(), platform.libc_ver())"),
    "builtins": exactly("import builtins; print(len(dir(builtins)), sorted(dir(builtins))[-5:], exit, quit)"),
    "hooks": lines("""
        import sys, threading
        print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)
        print(sys.breakpointhook is sys.__breakpointhook__, threading.excepthook.__name__)
        print(sys.stdout is sys.__stdout__, hasattr(sys, "ps1"), hasattr(sys, "last_exc"))
        """),
}
