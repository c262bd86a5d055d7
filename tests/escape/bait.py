"""What there is to find on the host while the attempts are made, if a wall lets one through.

A file with a secret, an environment, open descriptors, a process, sockets on the loopback and in the
abstract namespace, System V and POSIX shared memory and queues, a key: all of this user.
"""

import ctypes
import os
import pathlib
import secrets
import socket
import struct
import subprocess
import threading
import zlib

IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0
DIRECTORY_FD, PIPE_FD = 700, 701  # high, so that nothing of the server lies there by chance
VARIABLES = ("SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_SECRET", "PYTHONSTARTUP",
             "NODE_OPTIONS_SECRET", "GIT_ASKPASS")
libc = ctypes.CDLL(None, use_errno=True)


def check(value):
    if value == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value


def png_with(text):
    """A picture of one pixel that has the text in it."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
            + chunk(b"tEXt", b"text\0" + text.encode()) + chunk(b"IDAT", zlib.compress(bytes(4)))
            + chunk(b"IEND", b""))


def remove_ipc(key, queue):
    """What this user has by the names, of the System V and of POSIX."""
    shm, sem, msg = libc.shmget(key, ctypes.c_size_t(0), 0), libc.semget(key, 0, 0), libc.msgget(key, 0)
    libc.shmctl(shm, IPC_RMID, None)
    libc.semctl(sem, 0, IPC_RMID)
    libc.msgctl(msg, IPC_RMID, None)
    libc.mq_unlink(queue.encode())


class Bait:
    def __init__(self, directory):
        self.token = f"secret-{secrets.token_hex(8)}"
        self.directory = pathlib.Path(directory)
        self.file = self.directory / "secret"
        self.file.write_text(self.token)
        self.picture = self.directory / "picture.png"
        self.picture.write_bytes(png_with(self.token))
        (self.directory / "figures").mkdir()
        (self.directory / "figures" / "0001.png").write_bytes(png_with(self.token))
        self.sockets = []
        self.open_sockets()
        self.open_ipc()
        self.process = subprocess.Popen(["sh", "-c", "read never", self.token], stdin=subprocess.PIPE)
        self.open_descriptors()

    def listen(self, family, kind, address):
        sock = socket.socket(family, kind)
        sock.bind(address)
        self.sockets.append(sock)
        if kind == socket.SOCK_STREAM:
            sock.listen(64)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()
        else:
            threading.Thread(target=self.echo, args=(sock,), daemon=True).start()
        return sock.getsockname()

    def serve(self, sock):
        """The secret for whoever connects."""
        try:
            while True:
                with sock.accept()[0] as peer:
                    peer.sendall(self.token.encode())
        except OSError:
            pass  # closed

    def echo(self, sock):
        try:
            while True:
                sock.sendto(self.token.encode(), sock.recvfrom(64)[1])
        except OSError:
            pass

    def open_sockets(self):
        self.tcp = self.listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))[1]
        self.tcp6 = self.listen(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))[1]
        self.udp = self.listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))[1]
        self.abstract = f"bait-{self.token}"
        self.listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract)
        self.listen(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + self.abstract + "-datagram")
        self.socket_path = str(self.directory / "socket")
        self.listen(socket.AF_UNIX, socket.SOCK_STREAM, self.socket_path)

    def open_ipc(self):
        self.key = int.from_bytes(os.urandom(3), "big") + 1
        flags = IPC_CREAT | IPC_EXCL | 0o666
        check(libc.shmget(self.key, ctypes.c_size_t(4096), flags))
        check(libc.semget(self.key, 1, flags))
        check(libc.msgget(self.key, flags))
        self.queue = f"/bait-{os.getpid()}-{self.key}"
        self.queue_fd = check(libc.mq_open(self.queue.encode(), os.O_RDWR | os.O_CREAT, 0o666, None))
        self.shared_file = pathlib.Path(f"/dev/shm/{self.token}")
        self.shared_file.write_text(self.token)

    def open_descriptors(self):
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        reader, writer = os.pipe()
        self.pipe = reader
        os.set_blocking(reader, False)
        os.dup2(directory, DIRECTORY_FD, inheritable=True)
        os.dup2(writer, PIPE_FD, inheritable=True)
        os.close(directory)
        os.close(writer)

    def known(self):
        """What an attempt is told, so that it need not search."""
        return {"token": self.token, "file": str(self.file), "directory": str(self.directory),
                "picture": str(self.picture),
                "tcp": self.tcp, "tcp6": self.tcp6, "udp": self.udp,
                "abstract": self.abstract, "socket": self.socket_path, "key": self.key,
                "queue": self.queue, "shared": str(self.shared_file), "process": self.process.pid,
                "hostname": os.uname().nodename, "directory_fd": DIRECTORY_FD, "pipe_fd": PIPE_FD}

    def server_options(self):
        """How to start a server that has all this at hand."""
        return {"pass_fds": (DIRECTORY_FD, PIPE_FD), "cwd": self.directory,
                "preexec_fn": self.join_keyring}

    def join_keyring(self):
        """A session keyring with the secret in it, where the kernel has keyrings."""
        if os.uname().machine == "x86_64":
            libc.syscall(250, 1, None)
            libc.syscall(248, b"user", b"bait", self.token.encode(), len(self.token), -3)

    def environment(self):
        return {**os.environ, **{name: self.token for name in VARIABLES}}

    def whole(self):
        """Whether everything is as it was put there."""
        assert self.file.read_text() == self.token and self.shared_file.read_text() == self.token
        assert sorted(os.listdir(self.directory)) == ["figures", "picture.png", "secret", "socket"]
        assert self.process.poll() is None
        assert os.getpriority(os.PRIO_PROCESS, self.process.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        try:
            assert os.read(self.pipe, 1) == b"never"
        except BlockingIOError:
            pass

    def close(self):
        for sock in self.sockets:
            sock.close()
        os.close(self.queue_fd)
        remove_ipc(self.key, self.queue)
        self.shared_file.unlink()
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        for fd in (self.pipe, DIRECTORY_FD, PIPE_FD):
            os.close(fd)
