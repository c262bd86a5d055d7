"""The library that an interpreter loads to become a template depends on no C library in particular."""

import subprocess

import pytest

# Of any C library, and of Python: template.c. None of a newer version of glibc than the images have.
OF_C = {"__errno_location", "__stack_chk_fail", "_exit", "bind", "chdir", "clone", "close", "connect", "dl_iterate_phdr", "dup2", "environ", "execve",
        "exit", "fchdir", "fcntl", "fflush", "fopen", "fork", "fstat", "fstatat", "fstatfs", "ftruncate", "getcwd", "getpid", "getppid", "getrlimit", "getrusage", "htonl", "htons", "ioctl", "kill", "listen", "lseek",
        "memcpy", "memset", "mkdir", "mkdirat", "mkfifo", "mknodat", "mmap", "munmap", "open", "openat", "poll", "prctl",
        "pread", "pwrite", "read", "readlinkat", "recv", "recvmsg", "rename", "renameat", "sched_yield", "send", "sendfile",
        "sendmsg", "setdomainname", "sethostname", "setns", "setrlimit", "setsid", "setsockopt", "shutdown", "sigaction", "sigaddset",
        "sigemptyset", "signal", "signalfd", "sigprocmask", "socket", "socketpair", "statfs", "strcmp", "strlen", "symlink",
        "symlinkat", "syscall", "umask", "unlinkat", "vfork", "waitpid", "write"}


@pytest.fixture(scope="module")
def library(build_directory):
    return build_directory / "images" / "runners" / "python" / "template.so"


def lines_of(*command):
    return subprocess.run(command, text=True, check=True, capture_output=True).stdout.splitlines()


def test_the_library_needs_no_other(library):
    assert not [line for line in lines_of("readelf", "--dynamic", library) if "(NEEDED)" in line]


def test_the_library_uses_what_every_c_library_has(library):
    used = {line.split()[-1] for line in lines_of("nm", "--dynamic", "--undefined-only", library)}
    of_python = {name for name in used if name.startswith(("Py", "_Py"))}
    assert used - of_python <= OF_C
    assert not [name for name in used if "@" in name]  # versions, which others do not have


def test_the_library_shows_one_function(library):
    shown = {line.split()[-1] for line in lines_of("nm", "--dynamic", "--defined-only", library)}
    assert shown == {"PyInit_template"}
