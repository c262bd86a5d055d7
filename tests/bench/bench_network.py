"""What the network of a snippet costs: SERVER JSON

Each pair of rows is measured in turn, so that the noise of the machine meets both. Servers of this machine stand
for the internet: `--map-host` leads to them. Where slirp4netns and pasta are installed, a network namespace with
each fetches the same thing: they give a namespace a network too, without rules by name.
"""

import json
import os
import shutil
import signal
import socket
import socketserver
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "60"))
MEASURE = textwrap.dedent("""
    import json, socket, statistics, sys, time
    host, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
    echo, generator = ports[:2]

    def median(function, count):
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    def connect():
        with socket.create_connection((host, echo)) as client:
            client.sendall(b"x")
            client.recv(1)

    stream = socket.create_connection((host, echo))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def there_and_back():
        stream.sendall(b"x" * 64)
        stream.recv(64)

    def download():
        size, buffer = 0, bytearray(1 << 18)
        with socket.create_connection((host, generator)) as client:
            begin = time.perf_counter()
            while size < 400 << 20:
                size += client.recv_into(buffer)
            return size * 8 / 1e9 / (time.perf_counter() - begin)

    def refused():
        try:
            socket.create_connection(("10.255.0.1", 9))
        except OSError:
            pass

    print(json.dumps({
        "connect": median(connect, 300), "there_and_back": median(there_and_back, 2000), "gigabits": download(),
        "refused": median(refused, 200) if host != "127.0.0.1" else None,
        "name": median(lambda: socket.gethostbyname(host), 200) if host != "127.0.0.1" else None}))
    """)


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Generator(socketserver.BaseRequestHandler):
    def handle(self):
        piece = b"x" * (1 << 18)
        try:
            while True:
                self.request.sendall(piece)
        except OSError:
            pass


class Kilobyte(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1000)
        self.request.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1024)


class Servers(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 512


def serve(handler):
    server = Servers(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Server:
    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})

    def request(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while (answer := json.loads(self.process.stdout.readline())).get("id") != self.number:
            pass
        return answer["result"]

    def call(self):
        begin = time.perf_counter()
        self.request("tools/call", {"name": "run_python_code", "arguments": {"code": "print(1)"}})
        return time.perf_counter() - begin

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def alternate(one, other, rounds, pause):
    """Medians of both, in turn."""
    times = ([], [])
    for number in range(rounds + 5):
        for index in ((0, 1), (1, 0))[number % 2]:
            time.sleep(pause)
            times[index].append((one, other)[index]())
    return [statistics.median(values[5:]) for values in times]


def row(name, text):
    print(f"{name:44} {text}", flush=True)


def bench_calls(program, found):
    for name, warm, pause in (("cold call", "0", 0.02), ("prewarmed call", "2", 0.12)):
        servers = Server(program, "--warm", warm), Server(program, "--warm", warm, "--map-host", "a.internal:1=127.0.0.1:1")
        off, allow = alternate(servers[0].call, servers[1].call, 3 * ROUNDS, pause)
        for server in servers:
            server.stop()
        found[name] = {"off": off, "allow": allow}
        row(name, f"{off * 1000:.2f} ms without, {allow * 1000:.2f} ms with a network: {(allow - off) * 1000:+.2f} ms")


def bench_streams(program, found):
    echo, generator = serve(Echo), serve(Generator)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(MEASURE)
        file.flush()
        bare = [sys.executable, file.name, "127.0.0.1", str(echo), str(generator)]
        options = [option for port in (echo, generator)
                   for option in ("--map-host", f"service.internal:{port}=127.0.0.1:{port}")]
        jail = [program, "run", *options, "--network-limit", "100G", file.name, "service.internal", str(echo), str(generator)]
        results = {"bare": [], "jail": []}
        for _ in range(5):
            for name, command in (("bare", bare), ("jail", jail)):
                results[name].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    one, other = ({key: statistics.median(result[key] for result in results[name]) for key in results[name][0]
                   if results[name][0][key] is not None} for name in ("bare", "jail"))
    found["streams"] = {"bare": one, "jail": other}
    row("connect, and a byte each way", f"{one['connect'] * 1e6:.0f} us bare, {other['connect'] * 1e6:.0f} us: "
        f"{(other['connect'] - one['connect']) * 1e6:+.0f} us")
    row("64 bytes there and back", f"{one['there_and_back'] * 1e6:.0f} us bare, {other['there_and_back'] * 1e6:.0f} us: "
        f"{(other['there_and_back'] - one['there_and_back']) * 1e6:+.0f} us")
    row("one stream", f"{one['gigabits']:.1f} Gbit/s bare, {other['gigabits']:.1f} Gbit/s: {other['gigabits'] / one['gigabits']:.2f} times")
    row("a refused connection; a name known", f"{other['refused'] * 1e6:.0f} us; {other['name'] * 1e6:.0f} us")


def fetch_by_slirp(python, port):
    """A namespace, its network, and a kilobyte from the host."""
    begin = time.perf_counter()
    holder = subprocess.Popen(["unshare", "-Urn", "sh", "-c", "echo; read line; exec \"$@\"", "sh", python, "-c",
                               f"import urllib.request; urllib.request.urlopen('http://10.0.2.2:{port}/').read()"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    holder.stdout.readline()
    ready_read, ready_write = os.pipe()
    network = subprocess.Popen(["slirp4netns", "--configure", "--ready-fd", str(ready_write), str(holder.pid), "tap0"],
                               pass_fds=[ready_write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(ready_write)
    is_ready = os.read(ready_read, 1) == b"1"
    holder.stdin.write(b"\n")
    holder.stdin.close()
    status = holder.wait()
    elapsed = time.perf_counter() - begin
    network.send_signal(signal.SIGTERM)
    network.wait()
    os.close(ready_read)
    return elapsed if is_ready and status == 0 else None


def fetch_by_pasta(python, port):
    begin = time.perf_counter()
    try:
        done = subprocess.run(["pasta", "--config-net", "-T", str(port), "--", python, "-c",
                               f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}/').read()"],
                              capture_output=True, check=False, timeout=5)
    except subprocess.TimeoutExpired:
        return None
    return time.perf_counter() - begin if done.returncode == 0 else None


def bench_fetch(program, found):
    """One kilobyte, from nothing to the end of the program."""
    port = serve(Kilobyte)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write("import urllib.request; urllib.request.urlopen('http://service.internal/').read()")
        file.flush()
        command = [program, "run", "--map-host", f"service.internal:80=127.0.0.1:{port}", file.name]

        def ours():
            begin = time.perf_counter()
            done = subprocess.run(command, capture_output=True, check=False)
            return time.perf_counter() - begin if done.returncode == 0 else None

        def bare():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}/').read()"],
                           check=True, capture_output=True)
            return time.perf_counter() - begin

        ways = {"bare": bare, "code-sandbox-mcp run": ours}
        if shutil.which("slirp4netns"):
            ways["unshare and slirp4netns"] = lambda: fetch_by_slirp(sys.executable, port)
        if shutil.which("pasta"):
            ways["pasta"] = lambda: fetch_by_pasta(sys.executable, port)
        works = {name: way() is not None for name, way in ways.items()}
        times = {name: [] for name in ways}
        for _ in range(max(5, ROUNDS // 4)):
            for name, way in ways.items():
                if works[name] and (elapsed := way()) is not None:
                    times[name].append(elapsed)
    for name, values in times.items():
        found.setdefault("fetch", {})[name] = statistics.median(values) if values else None
        row(f"a kilobyte, {name}", f"{statistics.median(values) * 1000:.1f} ms" if values else "does not work here")


def main():
    program, path = sys.argv[1:]
    found = {}
    bench_calls(program, found)
    bench_streams(program, found)
    bench_fetch(program, found)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
