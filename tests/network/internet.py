"""An internet of its own, in network namespaces that need no privilege.

    unshare -Urnm python3 internet.py DIRECTORY

makes two namespaces with a link between them: here lives the machine under test, on the other side
everything else. It writes DIRECTORY/ready with its process id, and there what the servers saw: lines of
"dns NAME TYPE" and "tcp ADDRESS PORT". It ends with its standard input.

Public addresses answer to ping and on ports 80 (HTTP), 7 (echo), 9 (discard), 19 (generator), 5432 (a server that
speaks first) and 443 (echo); so do the canaries: private addresses and those of clouds. 151.101.9.0/24
drops everything. /files of HTTP are those of DIRECTORY/files; if there is DIRECTORY/servers, which has
the package asyncssh, SSH is at port 2222. The machine has the addresses 192.168.77.2, 151.101.7.7 and
151.101.7.6, the second of its network, from which the kernel sends nothing; and all of 2606:4700:a::/64 and
2606:4700:b::/64 (AnyIP). Every address of IPv4 can be bound.
"""

import asyncio
import http.server
import os
import pathlib
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time

os.environ["PATH"] += ":/usr/sbin:/sbin"

PUBLIC = ["93.184.0.0/16", "151.101.1.0/24", "8.8.8.0/24"]
CANARIES = ["10.0.0.0/8", "172.16.0.0/12", "169.254.169.254/32", "100.100.100.200/32", "168.63.129.16/32",
            "192.168.1.0/24", "100.64.0.0/10"]
NAMES = {
    "api.example.org": ["93.184.1.1"],
    "www.example.org": ["93.184.1.2"],
    "many.example.org": ["93.184.2.1", "93.184.2.2", "93.184.2.3"],
    "shared.example.org": ["93.184.1.1"],
    "first-dead.example.org": ["151.101.1.1"],
    "evil.example.com": ["93.184.6.6"],
    "private.example.org": ["10.0.0.5"],
    "mixed.example.org": ["10.0.0.5", "93.184.1.3"],
    "loop.example.org": ["127.0.0.1"],
    "meta.example.org": ["169.254.169.254"],
    "own.example.org": ["151.101.7.7"],
    "second-own.example.org": ["151.101.7.6"],
    "lan.example.org": ["192.168.77.2"],
    "black.example.org": ["151.101.9.9"],
    "large.example.org": ["93.184.1.5"],
    "crowd.example.org": [f"93.184.{number // 200}.{number % 200 + 1}" for number in range(600)],
    "looping.example.org": ["93.184.1.7"],
    "git.example.org": ["93.184.1.6"],
    "example.org": ["93.184.1.9"],
    "slow.example.org": ["93.184.1.1"],
    "deep.sub.example.org": ["93.184.1.4"],
    "evillisted.org": ["93.184.6.7"],
    "api.example.org.evil.com": ["93.184.6.8"],
}
NAMES_6 = {"both.example.org": ["2606:4700::1"], "six.example.org": ["2606:4700::2"], "mapped.example.org": ["::ffff:10.0.0.5"],
           "mapped-public.example.org": ["::ffff:93.184.1.1"], "nat64.example.org": ["64:ff9b::a00:5"], "6to4.example.org": ["2002:a00:5::1"],
           "compatible.example.org": ["::10.0.0.5"], "unique.example.org": ["fd00::1"], "local.example.org": ["fe80::1"],
           "loop6.example.org": ["::1"], "mapped-loop.example.org": ["::ffff:127.0.0.1"],
           "own-nat64.example.org": ["64:ff9b::9765:706"], "own-6to4.example.org": ["2002:9765:707::1"],
           "own-network.example.org": ["2606:4700:a::7"], "own-network-near.example.org": ["2606:4700:b::7"]}
NAMES |= {"both.example.org": ["10.0.0.6"], **{name: [] for name in NAMES_6 if name != "both.example.org"},
          "denied.example.com": ["93.184.6.1"], "half.example.com": ["93.184.6.2"],
          "unknown.example.org.corp.example": ["93.184.6.9"], "intranet.corp.example": ["93.184.6.9"]}
ALIASES = {"good.example.com": "www.example.org", "alias.example.com": "denied.example.com", "twice.example.com": "Alias.Example.COM",
           "half-alias.example.com": "half.example.com", "round.example.com": "around.example.com",
           "around.example.com": "round.example.com", "strange.example.com": "a/b.example.com", "reverse.example.com": "5.0.0.10.in-addr.arpa",
           "public-reverse.example.com": "1.1.184.93.in-addr.arpa"}
ALIASES |= {f"long{number}.example.com": f"long{number + 1}.example.com" for number in range(20)}
BROKEN = "broken.example.org"  # its server fails
HALF_BROKEN = "half-broken.example.org"  # of its IPv6 addresses alone
TARGETS = {("5.0.0.10.in-addr.arpa", 12): "secret.corp.example", ("1.1.184.93.in-addr.arpa", 12): "api.example.org",
           ("_ldap._tcp.example.com", 33): "dc.corp.example", ("example.com", 15): "mail.example.com",
           ("numeric.example.com", 33): "10.0.0.5", ("alias-of-texts.example.com", 5): "denied.example.com"}
TARGETS |= {(name, 5): target for name, target in ALIASES.items()}
SERVICE = bytes(6)  # ahead of the target of a service; of a mail server, two bytes
SILENT = "silent"  # a label: not answered by the first server, which is asked at 8.8.8.8
SLOW = b"\4slow"  # a label on the wire: answered after a second
NUMBERED = "numbered"  # the numbers of questions for such names are seen
SERVERS = {"8.8.8.8": "dns", "8.8.8.9": "dns-9"}  # as they are called in what was seen
REBINDING = "rebind.example.org"  # first public, then this machine
LOOPING = "looping.example.org"  # its answers are wrong
LARGE = "large.example.org"  # its texts need TCP


def run(*command):
    subprocess.run(command, check=True)


def in_internet(pid, *command):
    run("nsenter", "-t", str(pid), "-n", *command)


def make_link(pid):
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "name", "near", "type", "veth", "peer", "name", "far", "netns", str(pid))
    run("ip", "address", "add", "192.168.77.2/24", "dev", "near")
    run("ip", "address", "add", "151.101.7.7/28", "dev", "near")
    run("ip", "address", "add", "151.101.7.6/28", "dev", "near")
    run("ip", "link", "set", "near", "up")
    run("ip", "route", "add", "default", "via", "192.168.77.1", "src", "192.168.77.2")
    for interface, network in (("lo", "2606:4700:a::/64"), ("near", "2606:4700:b::/64")):
        run("ip", "-6", "route", "add", "local", network, "dev", interface)
    pathlib.Path("/proc/sys/net/ipv4/ip_nonlocal_bind").write_text("1")
    pathlib.Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 0")
    in_internet(pid, "ip", "link", "set", "lo", "up")
    in_internet(pid, "ip", "address", "add", "192.168.77.1/24", "dev", "far")
    in_internet(pid, "ip", "link", "set", "far", "up")
    for network in PUBLIC + CANARIES:
        in_internet(pid, "ip", "route", "add", "local", network, "dev", "lo")


class Log:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1, encoding="utf-8")

    def __call__(self, *words):
        self.file.write(" ".join(map(str, words)) + "\n")


def wire(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(name, kind, data, ttl=300):
    return wire(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


class Names:
    def __init__(self, log, server="8.8.8.8"):
        self.log = log
        self.server = SERVERS[server]
        self.asked = 0

    def answer(self, question, size=65535):
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode("latin-1"))
            at += 1 + question[at]
        kind = struct.unpack("!H", question[at + 1:at + 3])[0]
        name = ".".join(labels).lower()
        self.log(self.server, name, kind)
        if NUMBERED in labels:
            self.log("dns-id", name, int.from_bytes(question[:2], "big"))
        if SILENT in labels and self.server == "dns":
            return None
        if name == LOOPING:  # a name that points to itself
            return question[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + question[12:at + 5] + struct.pack("!H", 0xc000 | at + 5)
        if name == BROKEN or (name, kind) == (HALF_BROKEN, 28):
            return question[:2] + struct.pack("!HHHHH", 0x8182, 1, 0, 0, 0) + question[12:at + 5]
        answers = self.answers(name, kind)
        data = b"".join(answers)
        # As servers do, with the address of a target behind.
        more = [record("dc.corp.example", 1, socket.inet_aton("10.0.0.5"))] if kind == 33 else []
        flags = 0x8180 | (0 if answers or name in NAMES or name == HALF_BROKEN else 3)
        if at + 5 + len(data) > size:
            flags, answers, data, more = flags | 0x200, [], b"", []
        return (question[:2] + struct.pack("!HHHHH", flags, 1, len(answers), 0, len(more)) + question[12:at + 5] + data
                + b"".join(more))

    def answers(self, name, kind):
        found = []
        while name in ALIASES and len(found) < 30:
            found.append(record(name, 5, wire(ALIASES[name])))
            if kind == 5:
                return found
            name = ALIASES[name].lower()
        addresses = NAMES.get(name)
        if name == REBINDING:
            addresses, self.asked = (["93.184.1.1"], ["127.0.0.1"])[min(self.asked, 1):][0], self.asked + 1
        if addresses and kind == 1:
            found += [record(name, kind, socket.inet_aton(address), 0 if name == REBINDING else 300) for address in addresses]
        if kind == 28:
            found += [record(name, kind, socket.inet_pton(socket.AF_INET6, address)) for address in NAMES_6.get(name, ())]
        if addresses and kind == 16:
            text = f"of {name}".encode()
            found += [record(name, kind, bytes([len(text)]) + text)] * (100 if name == LARGE else 1)
        if (name, kind) in TARGETS and kind != 5:
            found.append(record(name, kind, SERVICE[:{33: 6, 15: 2}.get(kind, 0)] + wire(TARGETS[name, kind])))
        return found


def serve_dns(names, address):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        question, client = server.recvfrom(4096)
        if answer := names.answer(question, 512):
            threading.Timer(SLOW in question, server.sendto, (answer, client)).start()


class NamesByTcp(socketserver.BaseRequestHandler):
    def handle(self):
        while size := self.request.recv(2, socket.MSG_WAITALL):
            answer = self.server.names.answer(self.request.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
            self.request.sendall(len(answer).to_bytes(2, "big") + answer)


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files = None

    def send_file(self, path):
        path = path / "index.html" if path.is_dir() else path
        found = path.is_file()
        body = path.read_bytes() if found else b"not there\n"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "text/html" if path.suffix == ".html" else "application/octet-stream")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/files/"):
            self.send_file(self.files / self.path[len("/files/"):].partition("?")[0])
            return
        if self.path.startswith("/redirect/"):
            self.send_response(302)
            self.send_header("Location", "http://" + self.path[len("/redirect/"):])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = int(self.path[len("/bytes/"):]) if self.path.startswith("/bytes/") else None
        body = b"x" * size if size is not None else f"hello from {self.headers.get('Host')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = f"{len(body)} bytes\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Discard(socketserver.BaseRequestHandler):
    def handle(self):
        total = 0
        while data := self.request.recv(65536):
            total += len(data)
        self.request.sendall(f"{total}\n".encode())


class Generator(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while True:
                self.request.sendall(b"x" * 65536)
        except OSError:
            pass


class First(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"welcome\n")
        self.request.recv(1)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 512
    log = None

    def process_request(self, request, client_address):
        self.log("tcp", *request.getsockname())
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


class Proxy(socketserver.BaseRequestHandler):
    """By CONNECT. Names that it alone knows: *.inside.example; "refused.inside.example" it refuses."""

    login = None

    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            if not (piece := self.request.recv(4096)):
                return
            head += piece
        method, target, _version = head.split(b"\r\n")[0].decode().split()
        self.server.log("proxy", method, target)
        host, _, port = target.rpartition(":")
        if self.login and f"Proxy-Authorization: Basic {self.login}".encode() not in head:
            self.request.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        if host == "refused.inside.example":
            self.request.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!\n")
            return
        if host == "silent.inside.example":
            return
        if host == "strange.inside.example":
            self.request.sendall(b"220 this is no proxy\r\n\r\n")
            return
        if host == "large.inside.example":
            self.request.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000 + b"\r\n\r\n")
            return
        address = "93.184.5.5" if host.endswith(".inside.example") else NAMES.get(host, [host])[0]
        # In pieces, with the first bytes of the server behind them.
        with socket.create_connection((address, int(port))) as outer:
            self.request.sendall(b"HTTP/1.1 200 Con")
            time.sleep(0.02)
            self.request.sendall(b"nection established\r\n\r\n")
            pump = threading.Thread(target=self.copy, args=(outer, self.request), daemon=True)
            pump.start()
            self.copy(self.request, outer)
            pump.join()

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class LoginProxy(Proxy):
    login = "bWU6c2VjOnJldEA="  # me:sec:ret@


def serve_ssh(directory, listening):
    """With the key DIRECTORY/key of any user; "echo" answers. Its packages are in DIRECTORY/servers."""
    sys.path.insert(0, str(directory / "servers"))
    import asyncssh  # pylint: disable=import-outside-toplevel

    async def serve():
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(directory / "key")
        accepted = asyncssh.import_authorized_keys(key.export_public_key().decode())
        await asyncssh.listen("0.0.0.0", 2222, server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
                              authorized_client_keys=accepted,
                              process_factory=lambda process: (process.stdout.write(f"hello from {process.command}\n"), process.exit(0)))
        listening.set()
        await asyncio.Event().wait()
    asyncio.run(serve())


def start_servers(log, directory):
    Server.log = log
    Web.files = directory / "files"
    listening = threading.Event()
    if (directory / "servers").exists():
        threading.Thread(target=serve_ssh, args=(directory, listening), daemon=True).start()
        listening.wait(20)
    for port, handler in ((80, Web), (8080, Web), (443, Echo), (7, Echo), (9, Discard), (19, Generator),
                          (5432, First), (22, First), (25, First), (3128, Proxy), (3129, LoginProxy)):
        threading.Thread(target=Server(("0.0.0.0", port), handler).serve_forever, daemon=True).start()
    names = Names(log)
    threading.Thread(target=serve_dns, args=(Names(log, "8.8.8.9"), "8.8.8.9"), daemon=True).start()
    by_tcp = Server(("8.8.8.8", 53), NamesByTcp)
    by_tcp.names = names
    threading.Thread(target=by_tcp.serve_forever, daemon=True).start()
    threading.Thread(target=serve_dns, args=(names, "8.8.8.8"), daemon=True).start()


def serve_host(log):
    """The services of the machine itself, which nothing may reach."""
    Server.log = lambda *words: log("host", *words[1:])
    for port in (80, 6000):
        threading.Thread(target=Server(("0.0.0.0", port), Web).serve_forever, daemon=True).start()


def main():
    directory = pathlib.Path(sys.argv[1])
    log = Log(directory / "seen")
    configuration = directory / "resolv.conf"
    configuration.write_text("nameserver 8.8.8.8\nsearch corp.example\n")
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:  # the internet
        os.close(write_fd)
        subprocess.run(["true"], check=True)
        libc = __import__("ctypes").CDLL(None, use_errno=True)
        if libc.unshare(0x40000000) != 0:
            os._exit(1)
        (directory / "unshared").touch()
        os.read(read_fd, 1)
        start_servers(log, directory)
        (directory / "serving").touch()
        while os.getppid() != 1:
            time.sleep(0.2)
        os._exit(0)
    while not (directory / "unshared").exists():
        time.sleep(0.01)
    make_link(pid)
    target = os.path.realpath("/etc/resolv.conf")
    run("mount", "--bind", str(configuration), target)
    serve_host(log)
    os.write(write_fd, b"g")
    while not (directory / "serving").exists():
        time.sleep(0.01)
    (directory / "ready").write_text(str(os.getpid()))
    sys.stdin.read()
    os.kill(pid, 9)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
