"""How a program of Python ends, and what it may start before that."""

from snippet import PIDS, WALLS, exactly, lines

ENDS = {
    "exit of nothing": "import sys; print('out'); sys.exit()",
    "exit 0": "raise SystemExit(0)",
    "exit 3": "import sys; print('out', end=''); sys.exit(3)",
    "exit with a text": "import sys; sys.exit('a text')",
    "exit with a tuple": "import sys; sys.exit((1, 'two'))",
    "exit 300": "import sys; sys.exit(300)",
    "exit -1": "import sys; sys.exit(-1)",
    "exit true": "import sys; sys.exit(True)",
    "exit with a float": "import sys; sys.exit(1.5)",
    "exit with a huge number": "import sys; sys.exit(1 << 70)",
    "exit of site": "exit(4)",
    "quit of site": "quit('bye')",
    "exit at once": "import os; print('out', end=''); os._exit(5)",
    "exit at once with an open file": "import os; f = open('f', 'w'); f.write('x'); os._exit(6)",
    "exit within finally": "try:\n    raise SystemExit(2)\nfinally:\n    print('finally')",
    "exit caught": "try:\n    raise SystemExit(2)\nexcept SystemExit as end:\n    print(end.code)",
    "exit in a thread": "import sys, threading\nthreading.Thread(target=sys.exit, args=(3,)).start()",
    "abort": "import os; os.abort()",
    "interrupted": "raise KeyboardInterrupt",
    "killed by SIGINT": "import os\nprint('out')\nos.kill(os.getpid(), 2)\nprint('never')",
    "an interrupt caught": "import os\ntry:\n    os.kill(os.getpid(), 2)\nexcept KeyboardInterrupt:\n    print(1)",
    "output closed": "import sys; sys.stdout.close(); print('never')",
    "output closed at the end": "import os, sys\nsys.stdout = open(1, 'w')\nsys.stdout.write('x')\nos.close(1)",
    "no output": "import sys; sys.stdout = None; print('never')",
    "no newline": "print('a', end=''); import sys; print('b', end='', file=sys.stderr)",
    "bytes": "import sys; sys.stdout.buffer.write(bytes(range(256)))",
    "surrogates": "print('\\ud800')",
    "much output": "for i in range(300): print(i, 'x' * 50)",
    "print to both": "import sys\nfor i in range(20): print(i, file=(sys.stdout, sys.stderr)[i % 2])",
    "output by descriptor": "import os; os.write(1, b'one\\n'); print('two'); os.write(2, b'three\\n')",
    "killed by SIGKILL": "import os, signal; os.kill(os.getpid(), signal.SIGKILL); print('never')",
    "broken pipe": "import os\nr, w = os.pipe()\nos.close(r)\nos.write(w, b'x')",
}
# How each ends a program that has said nothing of it.
SIGNALS = ("SIGHUP", "SIGTERM", "SIGUSR1", "SIGALRM", "SIGPIPE", "SIGXCPU", "SIGXFSZ", "SIGQUIT",
           "SIGCHLD", "SIGVTALRM", "SIGSYS", "SIGSEGV", "SIGWINCH", "SIGUSR2")

SNIPPETS = {f"end: {name}": exactly(code) for name, code in ENDS.items()}
SNIPPETS |= {f"signal: {name}": exactly(
    "import os, signal\nprint('sent')\n"
    f"os.kill(os.getpid(), signal.{name})\nprint('alive')\n") for name in SIGNALS}
SNIPPETS |= {
    "what happens at the end": lines("""
        import atexit, sys, threading, weakref
        class Kept: pass
        kept = Kept()
        weakref.finalize(kept, print, "finalizer")
        atexit.register(print, "first registered")
        atexit.register(print, "last registered")
        class Fails:
            def __repr__(self): return "what fails"
            def __call__(self): raise ValueError("in atexit")
        atexit.register(Fails())
        class Falls:
            def __del__(self): print("deleted", sys is None)
        falls = Falls()
        threading._register_atexit(print, "threads")
        print("end of main")
        """),
    "exit while exiting": exactly("import atexit, os\natexit.register(os._exit, 9)\nprint('main')\n"),
    "files that were not closed": lines("""
        import atexit, os
        file = open("data", "w")
        file.write("kept back")
        def look(): print(os.path.getsize("data")); file.flush(); print(os.path.getsize("data"))
        atexit.register(look)
        """),
    "threads that outlive main": lines("""
        import threading, time
        def work():
            threading.main_thread().join(0.2)
            print("thread", threading.main_thread().is_alive())
        threading.Thread(target=work).start()
        print("end of main")
        """),
    "daemon thread": lines("""
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        print("end of main", threading.active_count())
        """),
    "exception in a thread": lines("""
        import threading
        def fails(): {}["missing"]
        thread = threading.Thread(target=fails, name="named")
        thread.start(); thread.join()
        print("main goes on")
        """),
    "handlers of signals": lines("""
        import os, signal, time
        def handler(number, frame): print(signal.Signals(number).name, frame.f_lineno)
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGINT):
            signal.signal(number, handler)
            os.kill(os.getpid(), number)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        signal.pause()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        os.kill(os.getpid(), signal.SIGUSR2)
        print(signal.sigpending(), signal.sigwait([signal.SIGUSR2]))
        """),
    "fork": lines("""
        import os
        pid = os.fork()
        if pid == 0:
            print("child", __name__)
            os._exit(7)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """),
    "orphans": lines("""
        import os, time
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid(); time.sleep(600)
            os._exit(0)
        os.wait(); print(os.listdir("/proc").count("3"))
        """, jailed=PIDS),
    "execute itself again": lines("""
        import os, sys
        print(sys.argv, flush=True)
        if len(sys.argv) == 1:
            os.execv(sys.executable, [sys.executable, "-u", __file__, "again"])
        """),
    "a process of itself": lines("""
        import subprocess, sys
        if len(sys.argv) > 1:
            sys.exit(int(sys.argv[1]) if sys.stdin.read() == "given" else 1)
        done = subprocess.run([sys.executable, __file__, "21"], input="given", text=True)
        print(done.returncode, subprocess.check_output(["cat", "main.py"]) == open(__file__, "rb").read())
        """),
    "a shell": lines("""
        import os, subprocess
        print(os.system("echo shell; wc -c < main.py; exit 3"))
        print(subprocess.run("ls; pwd; umask; ulimit -c; kill -TERM $$", shell=True))
        print(subprocess.getstatusoutput("python3 -c 'import sys; print(sys.argv, sys.path[0])'"))
        """, jailed=WALLS),
    "concurrent futures": lines("""
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
        def square(x): return x * x
        def fails(x): raise ValueError(x)
        if __name__ == "__main__":
            for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
                with kind(2) as pool:
                    print(list(pool.map(square, range(4))), pool.submit(fails, 3).exception())
        """),
    "pickles": lines("""
        import copy, dataclasses, pickle, pickletools
        @dataclasses.dataclass
        class Point:
            x: int
            y: int = 2
        def function(): pass
        print(pickle.loads(pickle.dumps(Point(1))), pickle.dumps([Point, function]), copy.deepcopy(Point(3)))
        """),
    "imported by its name": lines("""
        import os, sys
        print(__name__)
        if __name__ == "__main__":
            import main
            print(main.__file__, main.__spec__.origin, main.__loader__ is not __loader__)
            print(sorted(os.listdir()), "main" in sys.modules)
            print({name: repr(finder) for name, finder in sys.path_importer_cache.items() if "work" in name})
        """),
    "reloaded and run": lines("""
        import importlib, runpy
        print(__name__)
        if __name__ == "__main__":
            import main
            importlib.reload(main)
            print(sorted(runpy.run_path(__file__, run_name="by path"))[:3])
            runpy.run_module("main", run_name="by name")
        """),
    "a module of its own": lines("""
        import importlib, os, sys
        open("helper.py", "w").write("import __main__\\nname = __main__.__file__\\n1 / 0\\n")
        importlib.invalidate_caches()
        import helper
        """),
    "asyncio": lines("""
        import asyncio, sys
        async def work(n):
            await asyncio.sleep(0.01 * n)
            return n
        async def main():
            print(await asyncio.gather(*map(work, range(4))))
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(6)", stdout=-1)
            print(await process.communicate(), process.returncode)
            loop = asyncio.get_running_loop()
            print(type(loop).__name__, await loop.run_in_executor(None, len, "four"))
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        asyncio.run(main())
        """),
    "a task that nobody awaits": lines("""
        import asyncio, logging
        logging.basicConfig(format="%(levelname)s %(name)s %(message).40s")
        async def fails(): raise ValueError("unseen")
        async def main():
            asyncio.create_task(fails(), name="task")
            await asyncio.sleep(0.01)
        asyncio.run(main())
        """),
    "logging": lines("""
        import logging
        logging.warning("of %s", "root")
        logging.basicConfig(format="%(filename)s %(lineno)d %(funcName)s %(module)s %(pathname)s")
        def f(): logging.getLogger("x").error("text", exc_info=True, stack_info=True)
        f()
        """),
    "files of its own": lines("""
        import os, pathlib, shutil, sqlite3, tempfile
        with tempfile.NamedTemporaryFile() as file: print(os.path.dirname(file.name), file.write(b"x"))
        database = sqlite3.connect("data.db")
        database.execute("create table t (x)"); database.commit()
        print(sorted(path.name for path in pathlib.Path().iterdir()), pathlib.Path("main.py").resolve())
        os.rename("main.py", "moved.py"); shutil.copy("moved.py", "main.py")
        print(os.stat("main.py").st_nlink, os.path.samefile("main.py", "moved.py"))
        """),
    "shared memory": lines("""
        import multiprocessing.shared_memory, mmap, os
        block = multiprocessing.shared_memory.SharedMemory(create=True, size=64)
        block.buf[:2] = b"ok"; print(bytes(block.buf[:2]), len(os.listdir("/dev/shm")))
        block.close(); block.unlink()
        """),
    "sockets": lines("""
        import socket, threading
        server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=lambda: server.accept()[0].sendall(b"over loopback")).start()
        print(socket.create_connection(server.getsockname()).recv(99))
        one, other = socket.socketpair(); one.send(b"pair"); print(other.recv(9))
        """),
    "a lock of its file": lines("""
        import fcntl
        with open(__file__, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("locked", file.seek(0, 2), file.truncate(10))
        print(open(__file__).read())
        """),
    "memory map of its file": lines("""
        import mmap
        with open(__file__, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
            print(view[:12], len(view), view.find(b"mmap"))
        """),
}
for method in ("fork", "spawn", "forkserver"):
    SNIPPETS[f"multiprocessing: {method}"] = exactly(f'''
import multiprocessing, os, sys
seen = __name__.startswith("__m"), len(sys.argv)  # printed by the parent: children have no order among them
class Kind:
    def __init__(self, x): self.x = x
def work(queue, value, kind):
    value.value += kind.x
    queue.put((multiprocessing.current_process().name, __name__, __file__, sys.argv, seen))
def square(x): return x * x
if __name__ == "__main__":
    print(seen)
    context = multiprocessing.get_context("{method}")
    queue, value = context.Queue(), context.Value("i", 1)
    process = context.Process(target=work, args=(queue, value, Kind(41)))
    process.start(); print(queue.get()); process.join(); print(process.exitcode, value.value)
    pool = context.Pool(2); print(pool.map(square, range(5))); pool.close(); pool.join()
    failing = context.Process(target=sys.exit, args=(3,)); failing.start(); failing.join()
    print(failing.exitcode, multiprocessing.get_start_method())
''')
