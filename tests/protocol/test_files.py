"""Files that a snippet leaves in its directory come back with its result, whatever it plants there."""

import resource
import os
import time
import urllib.parse

import pytest

from support.files import left_by, read
from support.mcp_client import run

PICTURE = """
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
PNG = (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
       + chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0")) + chunk(b"IEND", b""))
"""
WRITE = """
import os, socket, stat, sys, time
def write(path, data=b"x", second=None):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    if second is not None:
        os.utime(path, (second, second))
""" + PICTURE


@pytest.fixture
def server(python_server):
    return python_server


def left(server, code):
    return left_by(server, WRITE + code)


def test_a_file_comes_back_byte_for_byte(server):
    found = left(server, "write('totals.csv', b'a,b\\r\\n1,2\\n\\xc3\\xa9' + b'.' * 1200); print(1)")
    assert found.texts == ["1", "Files: totals.csv (1.2 KiB) sandbox://files/1/totals.csv"]
    assert found.record["files"] == [{"name": "totals.csv", "bytes": 1211, "type": "text/csv",
                                      "uri": "sandbox://files/1/totals.csv", "path": None, "shown": False}]
    assert found.links == [{"type": "resource_link", "uri": "sandbox://files/1/totals.csv", "name": "totals.csv",
                            "mimeType": "text/csv", "size": 1211, "annotations": {"audience": ["user"]}}]
    data, contents = read(server, "sandbox://files/1/totals.csv")
    assert data == b"a,b\r\n1,2\n\xc3\xa9" + b"." * 1200 and contents["mimeType"] == "text/csv"


def test_without_files_there_is_nothing_to_say(server):
    found = left(server, "print(1)")
    assert found.texts == ["1"] and found.record["files"] == [] and found.record["figures"] == 0


@pytest.mark.parametrize("end", ["sys.exit(3)", "1 / 0", "os.kill(os.getpid(), 9)", "time.sleep(60)"])
def test_a_failure_returns_them_too(start_python, end):
    server = start_python("--timeout", "2")
    found = left(server, f"write('log.txt', 'so far'); print('out'); {end}")
    assert found.texts[0].startswith("out\n") and found.texts[1] == found.notes
    assert read(server, found.uri("log.txt"))[0] == b"so far"


def test_a_program_that_prints_nothing_is_told_of_its_files_and_not_scolded(server):
    found = left(server, "write('a', 'x')")
    assert found.texts[0].endswith("printed nothing. It left files.")


def test_notes_come_after_stderr(server):
    found = left(server, "write('a'); print(1); print(2, file=sys.stderr)")
    assert found.texts == ["1", "2", found.notes]


PLANTED = {  # what is planted: the names that are told
    "a link to a file of the host": ("os.symlink('/etc/passwd', 'a')", []),
    "a link to a file of the image by its whole path": ("os.symlink('/usr/bin/python3', 'a')", []),
    "a link upwards": ("os.symlink('../' * 20 + 'etc/hostname', 'a')", []),
    "a link to the program": ("os.symlink('main.py', 'a')", []),
    "a link to a file beside it": ("write('b'); os.symlink('b', 'a')", ["b"]),
    "a link to itself": ("os.symlink('a', 'a')", []),
    "links in a circle": ("os.symlink('b', 'a'); os.symlink('a', 'b')", []),
    "a link to nowhere": ("os.symlink('nowhere', 'a')", []),
    "a link to a directory": ("os.symlink('/etc', 'd')", []),
    "a link to its own directory": ("os.symlink('.', 'd')", []),
    "a link to a directory beside it": ("os.mkdir('e'); write('e/x'); os.symlink('e', 'd')", ["e/x"]),
    "a link into /proc": ("os.symlink('/proc/self/environ', 'a')", []),
    "a link to a descriptor": ("os.symlink('/proc/self/fd/0', 'a')", []),
    "a FIFO": ("os.mkfifo('a')", []),
    "a FIFO that is being read": ("os.mkfifo('a'); os.open('a', os.O_RDWR)", []),
    "a socket": ("s = socket.socket(socket.AF_UNIX); s.bind('a'); s.listen()", []),
    "a device": ("""
try:
    os.mknod('a', 0o600 | stat.S_IFCHR, os.makedev(1, 3))
except OSError as error:
    write('refused')
""", ["refused"]),
    "a directory where a file was": ("write('a'); os.remove('a'); os.mkdir('a'); write('a/b')", ["a/b"]),
    "a file where a directory was": ("os.mkdir('a'); os.rmdir('a'); write('a')", ["a"]),
    "a file without permissions": ("write('a'); os.chmod('a', 0)", []),
    "a file that may only be written": ("write('a'); os.chmod('a', 0o222)", []),
    "a file that only others may read": ("write('a'); os.chmod('a', 0o044)", []),
    "a directory without permissions": ("os.mkdir('d'); write('d/x'); os.chmod('d', 0)", []),
    "a directory that cannot be listed": ("os.mkdir('d'); write('d/x'); os.chmod('d', 0o300)", []),
    "a directory that cannot be entered": ("os.mkdir('d'); write('d/x'); os.chmod('d', 0o400)", []),
    "a work directory without permissions": ("write('a'); os.chmod('.', 0)", []),
    "a set-user-id program": ("write('a'); os.chmod('a', 0o6755)", ["a"]),
    "a hard link": ("write('a', second=1); os.link('a', 'b')", ["a", "b"]),
    "a hard link to the program": ("os.link('main.py', 'copy.py')", ["copy.py"]),
    "a removed program": ("os.remove('main.py'); write('a')", ["a"]),
    "another program in its place": ("write('main.py', 'import this')", []),
    "the name of the program in a directory": ("os.mkdir('d'); write('d/main.py')", ["d/main.py"]),
    "a removed file that is still open": ("f = open('a', 'w'); os.remove('a')", []),
    "a file that is open and not flushed": ("f = open('a', 'w'); f.write('x'); f.flush()", ["a"]),
    "caches": ("os.mkdir('__pycache__'); write('__pycache__/m.pyc')", []),
    "packages": ("os.makedirs('d/node_modules/x'); write('d/node_modules/x/y.js')", []),
    "a file called as caches are": ("write('__pycache__')", ["__pycache__"]),
    "a module that was imported": ("write('m.py', 'x = 1'); import m", ["m.py"]),
    "files in /tmp and $HOME": ("write('/tmp/a'); write(os.environ['HOME'] + '/b')", []),
    "a hidden file": ("write('.hidden')", [".hidden"]),
    "an empty file": ("write('a', b'')", ["a"]),
    "an empty directory": ("os.makedirs('a/b/c/d/e')", []),
    "four levels": ("os.makedirs('a/b/c'); write('a/b/c/d')", ["a/b/c/d"]),
    "five levels": ("os.makedirs('a/b/c/d'); write('a/b/c/d/e')", ["a/b/c/d/e"]),
    "sixteen levels": ("p = '/'.join('abcdefghijklmno'); os.makedirs(p); write(p + '/p')", ["a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"]),
    "a hundred levels": ("""
for _ in range(100):
    os.mkdir('d'); os.chdir('d')
write('deep')
""", []),
    "the longest name": ("write('n' * 255)", ["n" * 255]),
    "an option": ("write('-rf')", ["-rf"]),
    "a name of two lines": ("write('a\\nFiles: b')", ["a\nFiles: b"]),
    "a name with a terminal's escape": ("write('\\x1b[2J')", ["\x1b[2J"]),
    "a name that is not UTF-8": ("write(b'\\xff\\xfe')", ["\ufffd\ufffd"]),
    "a name with quotes": ("write('\"\\\\\\'')", ["\"\\'"]),
    "a name with signs of a URI": ("write('a?offset=1#%41&b')", ["a?offset=1#%41&b"]),
    "dots": ("write('...'); os.mkdir('d'); write('d/..x')", ["...", "d/..x"]),
    "the oldest first, then by name": (
        "write('c', second=9); write('b', second=10); write('a', second=10)", ["c", "a", "b"]),
    "times far away": ("write('b', second=2**33); write('a', second=-5)", ["a", "b"]),
}


@pytest.mark.parametrize("what", PLANTED)
def test_of_what_is_planted_only_files_are_told(server, what):
    code, names = PLANTED[what]
    found = left(server, code + "\nprint('done')")
    assert found.texts[0] == "done" and found.names == names and len(found.links) == len(names)
    for name in names:
        assert read(server, found.uri(name))[1]["mimeType"]
    assert ("Files: " in found.notes) == bool(names) and "\x1b" not in found.notes
    assert all(line.startswith(("Files: ", "Not ")) for line in found.notes.splitlines())


@pytest.mark.parametrize("begin", range(0, 256, 32))
def test_the_uri_of_any_name_can_be_read(server, begin):
    found = left(server, f"""
for byte in set(range({begin}, {begin + 32})) - {{0, ord('/'), ord('.')}}:
    write(bytes([byte]), bytes([byte]))
""")
    assert len(found.names) == 32 - 2 * (begin == 32) - (begin == 0)
    for file in found.record["files"]:
        data, _ = read(server, file["uri"])
        assert len(data) == 1 and file["uri"].rsplit("/", 1)[1] == urllib.parse.quote(data, safe="")


def test_a_client_may_encode_the_uri_otherwise(server):
    found = left(server, "write('a b(1).csv', 'x')")
    uri = found.uri("a b(1).csv")
    assert uri.endswith("/a%20b%281%29.csv")
    for other in ("a b(1).csv", "a%20b(1).csv", "%61%20b%281%29%2ecsv", "a%20b%281%29.csv?offset=0"):
        assert server.result("resources/read", {"uri": f"sandbox://files/1/{other}"})["contents"][0]["text"] == "x"


def test_a_sparse_file_of_10_gb_is_told_and_not_copied(start_python):
    server = start_python("--disk", "20G")
    began = time.monotonic()
    found = left(server, "os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 10 << 30)")
    assert found.notes == "Files: sparse (10 GiB, not kept)" and time.monotonic() - began < 20
    assert found.record["files"][0]["uri"] is None and found.links == []
    answer = server.request("resources/read", {"uri": "sandbox://files/1/sparse"})
    assert answer["error"]["code"] == -32002


def test_a_file_that_grows_until_the_end_is_taken_as_it_is_then(start_python):
    server = start_python("--timeout", "1")
    found = left(server, """
import subprocess
subprocess.Popen([sys.executable, '-c', 'while True: open("log", "ab", 0).write(b"0123456789")'])
with open('log', 'ab', 0) as file:
    while True:
        file.write(b'0123456789')
""")
    size = found.record["files"][0]["bytes"]
    if found.uri("log") is not None:
        data, _ = read(server, found.uri("log"))
        assert data == b"0123456789" * (size // 10) and size % 10 == 0


def test_processes_that_were_left_behind_change_nothing_any_more(server):
    found = left(server, """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True:
            write('other', b'y' * 1000); os.rename('other', 'a'); os.symlink('/etc/passwd', 'link'); os.rename('link', 'a')
time.sleep(0.3)
""")
    for file in found.record["files"]:
        assert read(server, file["uri"])[0].strip(b"y") == b""


def test_10_000_names_do_not_hold_up_the_server(server):
    found = left(server, "for number in range(10_000): write(f'{number}.txt', b'')\nprint('x')")
    assert found.texts[0] == "x" and len(found.names) == 32
    assert found.notes.endswith("; and at least 4064 more") and len(found.notes) < 5000


def test_10_000_directories_do_not_hold_up_the_server(server):
    found = left(server, "for n in range(10_000): os.mkdir(str(n)); write(f'{n}/x', b'')\nwrite('last'); print('x')")
    assert found.texts[0] == "x" and "last" in found.names


def test_the_program_and_the_inputs_are_not_counted_among_many_files(server):
    code = WRITE + "for number in range(256): write(str(number))"
    assert left_by(server, code).notes.endswith("; and 224 more")
    files = [{"name": f"input-{number}", "text": "x"} for number in range(64)]
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code, "files": files}})
    count = int(result["content"][1]["text"].rsplit("; and at least ", 1)[1].removesuffix(" more"))
    assert 256 - 32 - 64 <= count <= 256 - 32


def test_files_behind_too_many_directories_are_not_denied(server):
    found = left(server, "for n in range(300): os.makedirs(f'{n}/a')\nwrite('0/a/file')")
    assert found.names == [] and found.texts[1].endswith("directories: there may be others.")


@pytest.mark.alone
def test_a_result_says_that_files_are_lost_to_another_snippet(start, python_settings):
    """It fills the user's quota of descriptors in transit, with which those of directories travel."""
    def lower_quota():
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

    server = start("--parallel", "2", "--warm", "0", "--result-format", "structured", environment=python_settings,
                   preexec_fn=lower_quota)
    server.initialize()
    hog = server.start_call("run_python_code", """
import socket, time
kept = [socket.socketpair() for pair in range(8)]
try:
    for sender, _ in kept:
        for message in range(4):
            socket.send_fds(sender, [b"x"], [sender.fileno()] * 250)
except OSError:
    print("full", flush=True)
time.sleep(600)
""", _meta={"progressToken": 1})
    while "full" not in server.next_message()["params"].get("message", ""):
        pass
    result = server.call("run_python_code", WRITE + "write('a')")
    silence, notes = [block["text"] for block in result["content"]]
    assert "It may have left files." in silence and "could not be collected" in notes and "run it again" in notes
    assert result["structuredContent"]["files"] is None and result["structuredContent"]["figures"] is None
    server.notify("notifications/cancelled", {"requestId": hog})
    while server.call("run_python_code", WRITE + "write('a')")["structuredContent"]["files"] is None:
        pass


def test_a_full_disk_leaves_what_there_was(start_python):
    server = start_python("--disk", "1M")
    found = left(server, "write('a', b'a' * 500_000)\nwrite('b', b'b' * 2_000_000)")
    assert found.names[0] == "a" and read(server, found.uri("a"))[0] == b"a" * 500_000


def test_the_notes_stay_short_however_long_the_names_are(server):
    found = left(server, "for n in range(30): write('\\xe9' * 120 + str(n))")
    assert len(found.names) == 30 and len(found.notes) < 5000
    assert found.notes.startswith("Files: " + "\xe9" * 100 + "... (1 byte) sandbox://")
    assert " more" in found.notes.rsplit(";", 1)[1]


def test_links_are_few_and_for_the_user(server):
    found = left(server, "write('a.png', PNG); write('a.svg', '<svg/>')\nfor n in range(12): write(f'{n}.txt')")
    assert len(found.links) == 8 and len(found.names) == 14
    assert {link["mimeType"] for link in found.links} == {"text/plain"}
    assert all(link["annotations"] == {"audience": ["user"]} for link in found.links)


@pytest.mark.parametrize(("version", "has_links"),
                         [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True)])
def test_old_clients_get_no_links(start, python_settings, version, has_links):
    server = start(environment=python_settings)
    server.initialize(version)
    found = left(server, "write('a.txt')")
    assert bool(found.links) == has_links and found.notes


@pytest.mark.parametrize("result_format", ["json", "structured"])
def test_other_forms_of_results_have_them_too(start_python, result_format):
    server = start_python("--result-format", result_format)
    result = server.call("run_python_code", WRITE + "write('a.txt'); sys.exit(1)")
    assert result["content"][1]["text"].startswith("Files: a.txt")
    if result_format == "structured":
        assert result["structuredContent"]["files"] == result["_meta"]["code-sandbox/result"]["files"]
        assert result["structuredContent"]["figures"] == 0


def test_javascript_and_bash_leave_files_too(start, images):
    server = start()
    server.initialize()
    if "node" in images:
        found = left_by(server, "require('fs').writeFileSync('a.json', '{}')", "run_javascript_code")
        assert found.names == ["a.json"]
    if "bash" in images:
        assert left_by(server, "echo 1 > a.txt", "run_bash_code").names == ["a.txt"]
    if not {"node", "bash"} & set(images):
        pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")


def test_prewarmed_sandboxes_leave_nothing_of_their_own(start_python):
    server = start_python("--warm", "2")
    for number in range(6):
        assert left(server, f"write('{number}')").names == [str(number)]


FIGURES = WRITE + """
FIGURES = os.environ['HOME'] + '/.code-sandbox/figures/'
os.makedirs(FIGURES)
"""


def test_figures_come_before_pictures_and_are_counted(server):
    found = left_by(server, FIGURES + """
write('saved.png', PNG)
write(FIGURES + '0002.png', PNG + b'2'); write(FIGURES + '0001.png', PNG + b'1')
""")
    assert [block["data"][-4:] for block in found.images][2:] and found.record["figures"] == 2
    assert found.names == ["saved.png"] and "figure" not in found.notes


def test_figures_that_were_not_drawn_are_told(server):
    found = left_by(server, FIGURES + """
for n in range(1, 21):
    write(FIGURES + f'{n:04}.png', PNG if n < 9 else b'')
write('late.png', PNG)
""")
    assert len(found.images) == 8 and found.record["figures"] == 20
    assert "late.png is not shown: a result has at most 8 images." in found.notes
    assert found.notes.endswith("\n12 more figures are not shown: a result has at most 8.")


def test_a_figure_that_is_not_shown_can_be_read(server):
    found = left_by(server, FIGURES + "write('figure-1.png', 'mine'); write(FIGURES + '0001.png', PNG + bytes(720_000))")
    assert found.images == [] and found.record["figures"] == 1
    uri = found.notes.split()[-1]
    assert "figure-1-1.png is not shown: it has 703.2 KiB" in found.notes and uri.endswith("/figure-1-1.png")
    assert len(read(server, uri)[0]) > 720_000 and read(server, found.uri("figure-1.png"))[0] == b"mine"


@pytest.mark.parametrize("code", [
    "write(FIGURES + '0001.png', 'text')", "write(FIGURES + '0001.png', PNG[:-1])",
    "os.symlink('/etc/passwd', FIGURES + '0001.png')", "os.mkfifo(FIGURES + '0001.png')",
    "os.mkdir(FIGURES + '0001.png')", "write(FIGURES + 'x.png', PNG)", "write(FIGURES + '1.png', PNG)",
    "os.rmdir(FIGURES); os.symlink('/work', FIGURES[:-1]); write('0001.png', PNG); os.chmod('0001.png', 0)",
    "for n in range(10_000): os.mkfifo(FIGURES + f'{n:04}.png')",
    # A server of root enters it all the same.
    *(["write(FIGURES + '0001.png', PNG); os.chmod(FIGURES, 0)"] if os.geteuid() != 0 else []),
])
def test_what_is_no_figure_is_not_shown(server, code):
    found = left_by(server, FIGURES + code + "\nprint(1)")
    assert found.images == [] and found.texts[0] == "1"


def test_calls_have_numbers_of_their_own(server):
    run(server, "print(1)")
    found = left(server, "write('a', 'two'); print('x' * 50_000)")
    assert found.uri("a") == "sandbox://files/2/a"
    assert found.record["stdout_resource"] == "sandbox://output/2/stdout"
    again = left(server, "write('a', 'three')")
    assert read(server, found.uri("a"))[0] == b"two" and read(server, again.uri("a"))[0] == b"three"


def test_input_files_come_back_only_if_they_have_changed(server):
    arguments = {"code": WRITE + "write('b.csv', 'more'); write('d/c', open('d/c').read()); write('e')",
                 "files": [{"name": "a.csv", "text": "1"}, {"name": "b.csv", "text": "2"}, {"name": "d/c", "text": "3"}]}
    result = server.result("tools/call", {"name": "run_python_code", "arguments": arguments})
    assert [file["name"] for file in result["_meta"]["code-sandbox/result"]["files"]] == ["b.csv", "e"]
