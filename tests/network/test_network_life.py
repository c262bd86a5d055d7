"""The broker's life, and what one sandbox can do to it and to others."""

import os
import re
import signal
import subprocess
import time

from support.broker import broker_of
from support.mcp_client import RECORD, Server, program_path
from support.sandbox import left_after, still_alive, stop_process

ON = ("--warm", "0", "--network", "on")
OPEN = "import socket; s = socket.create_connection(('api.example.org', 443))"


def call(server, code, **arguments):
    return server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code, **arguments}})


def text_of(result):
    return result["content"][0]["text"]


def network_of(result):
    return result["_meta"][RECORD]["network"]


def await_progress(server, text):
    """Until a running call has printed it."""
    while text not in str(message := server.next_message()):
        assert message is not None, server.stderr()


def test_broker_starts_with_the_first_sandbox_and_ends_with_the_server(start_server):
    server = start_server(*ON)
    assert broker_of(server) is None
    call(server, "1")
    broker = broker_of(server)
    assert broker is not None
    call(server, "1")
    assert broker_of(server) == broker
    server.process.kill()
    server.process.wait()
    assert not left_after(5, lambda: still_alive([broker]))


def test_server_without_a_network_has_no_broker(start_server):
    server = start_server("--warm", "0")
    call(server, "1")
    assert broker_of(server) is None


def test_dead_broker_is_told_and_the_next_call_has_another(start_server):
    server = start_server(*ON)
    call(server, "1")
    broker = broker_of(server)
    request = server.start_call("run_python_code", f"{OPEN}\nprint('open', flush=True)\nprint(s.recv(1))\nraise SystemExit(3)")
    time.sleep(0.5)
    os.kill(broker, signal.SIGKILL)
    result = server.answer(request)["result"]
    assert "ConnectionResetError" in text_of(result) or "b''" in text_of(result)
    assert "Network: what connects the sandbox with the network has failed" in text_of(result)
    assert network_of(result)["complete"] is False
    assert text_of(call(server, f"{OPEN}\nprint('fine')")) == "fine"
    assert broker_of(server) not in (None, broker)


def test_stopped_broker_delays_no_answer(start_server):
    server = start_server(*ON)
    call(server, "1")
    broker = broker_of(server)
    request = server.start_call("run_python_code", "import time; time.sleep(0.5); print('done')")
    time.sleep(0.3)
    stop_process(broker)
    begin = time.monotonic()
    result = server.answer(request)["result"]
    assert text_of(result) == "done" and time.monotonic() - begin < 3
    assert network_of(result)["complete"] is False
    os.kill(broker, signal.SIGKILL)


def test_stream_that_is_open_at_the_end_is_reset(start_server, internet):
    server = start_server(*ON)
    result = call(server, OPEN + "; import os; os._exit(0)")
    assert network_of(result)["hosts"][0]["streams"] == 1
    broker = broker_of(server)
    assert left_after(5, lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) > 30) is False
    assert broker is not None


def test_limit_of_bytes_ends_streams_and_is_told(start_server):
    server = start_server(*ON, "--network-limit", "32M")
    result = call(server, """
import socket
s = socket.create_connection(("api.example.org", 19)); n = 0
try:
    while data := s.recv(65536): n += len(data)
except OSError as error: print(error.errno)
print(n)
try: socket.create_connection(("api.example.org", 80), 3)
except OSError as error: print(error.errno)
raise SystemExit(1)
""")
    lines = text_of(result).splitlines()
    assert lines[0] == "104", text_of(result)
    assert int(lines[1]) <= 32 << 20 and lines[2] == "113"
    network = network_of(result)
    assert network["hosts"][0]["received"] <= (32 << 20) + 65536
    assert {one["reason"] for one in network["refused"]} == {"limit"}
    assert any("has used up what it may move over the network (32 MiB)" in line for line in lines)


def test_streams_beyond_the_limit_wait_until_others_end(start_server):
    server = start_server(*ON)
    result = call(server, """
import socket
clients = []
try:
    for _ in range(400): clients.append(socket.create_connection(("93.184.1.1", 7), 1))
except TimeoutError: print(len(clients))
for client in clients[:50]: client.close()
print(socket.create_connection(("93.184.1.1", 7), 10) is not None)
""")
    lines = text_of(result).splitlines()
    assert 200 <= int(lines[0]) <= 256 and lines[1] == "True"


def test_broker_with_few_descriptors_goes_on(internet, settings):
    program = internet.arguments("prlimit", "--nofile=400:400", "--", program_path(), *ON)
    with Server(*program, program="/usr/bin/nsenter", environment=settings) as server:
        server.initialize()
        result = call(server, """
import socket
clients = []
try:
    for _ in range(300): clients.append(socket.create_connection(("93.184.1.1", 7), 1))
except OSError as error: print(len(clients))
for client in clients: client.close()
print(socket.create_connection(("93.184.1.1", 7), 10) is not None)
""")
        lines = text_of(result).splitlines()
        assert 40 <= int(lines[0]) <= 50 and lines[1] == "True"
        broker = broker_of(server)

        def used():
            with open(f"/proc/{broker}/stat", encoding="ascii") as stat:
                return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))

        before = used()
        time.sleep(0.5)
        assert used() - before < 10  # hundredths of a second


def test_a_sandbox_leaves_streams_to_others_where_there_are_few(internet, settings):
    program = internet.arguments("prlimit", "--nofile=400:400", "--", program_path(), *ON, "--parallel", "2")
    with Server(*program, program="/usr/bin/nsenter", environment=settings) as server:
        server.initialize()
        server.start_call("run_python_code", """
import socket
clients = []
try:
    while True: clients.append(socket.create_connection(("93.184.1.1", 7), 1))
except OSError as error: print("full", flush=True)
clients[0].settimeout(None)
clients[0].recv(1)
""", _meta={"progressToken": 1})
        await_progress(server, "full")
        assert text_of(call(server, "import socket; print(socket.create_connection(('93.184.1.1', 7), 10) is not None)")) == "True"
        server.kill()  # the first call has no end


def test_queues_of_many_streams_outside_are_small(start_server, internet):
    server = start_server(*ON)
    server.start_call("run_python_code", """
import socket, time
clients = [socket.create_connection(("api.example.org", 19)) for _ in range(40)]
for client in clients:
    taken = 0
    while taken < 8 << 20: taken += len(client.recv(1 << 20))
print("taken", flush=True)
time.sleep(3600)
""", _meta={"progressToken": 1})
    await_progress(server, "taken")

    def queued():
        sockets = subprocess.check_output(["/usr/bin/nsenter", *internet.arguments("/usr/bin/ss", "-tmnH", "dport", "=", "19")], text=True)
        return [int(one) for one in re.findall(r"skmem:\(r(\d+)", sockets)]

    before, now = [], queued()
    while now != before:
        time.sleep(0.3)
        before, now = now, queued()
    assert len(now) == 40 and sum(one > 1 << 20 for one in now) <= 8, now


def test_listeners_without_descriptors_stop_nothing(internet, settings):
    program = internet.arguments("prlimit", "--nofile=120:120", "--", program_path(), *ON)
    with Server(*program, program="/usr/bin/nsenter", environment=settings) as server:
        server.initialize()
        result = call(server, """
import socket
clients = []
for number in range(1, 100):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex((f"93.184.3.{number}", 7))
    clients.append(client)
try: socket.create_connection(("93.184.1.1", 7), 3)
except OSError: pass
for client in clients: client.close()
print(socket.create_connection(("93.184.1.1", 7), 20) is not None)
print(socket.gethostbyname("api.example.org"))
""")
        assert text_of(result).splitlines() == ["True", "93.184.1.1"]


def test_questions_without_an_answer_hold_back_no_other_servers(start_server, internet):
    """Three at a time, so that one of them waits at any time."""
    server = start_server(*ON)
    configuration = internet.directory / "resolv.conf"
    before = len(internet.seen())
    request = server.start_call("run_python_code", """
import socket, threading, time
def ask(name):
    while True:
        try: return answered.append(socket.gethostbyname(name))
        except socket.gaierror as error:
            if error.errno == socket.EAI_NONAME: return answered.append(name)
answered = []
for number in range(3):
    threading.Thread(target=ask, args=(f"silent.n{number}.example.org",)).start()
    time.sleep(1)
for number in range(1000):
    if len(answered) == 3: break
    try: socket.gethostbyname(f"other{number}.example.org")
    except OSError: pass
    time.sleep(0.05)
print(len(answered))
""")
    whole = configuration.read_text()
    try:
        assert not left_after(20, lambda: not any("silent.n2" in line[1] for line in internet.seen()[before:]))
        configuration.write_text("nameserver 8.8.8.9\n")
        assert not left_after(8, lambda: not {f"silent.n{number}.example.org" for number in range(3)} <= {
            line[1] for line in internet.seen()[before:] if line[0] == "dns-9"})
        assert text_of(server.answer(request)["result"]) == "3"
    finally:
        configuration.write_text(whole)


def test_answers_that_a_server_cuts_short_disturb_no_other_sandbox(start_server, internet):
    """The second server has no TCP, and c-ares gives up all questions to a server whose connection fails."""
    server = start_server(*ON)
    configuration = internet.directory / "resolv.conf"
    whole = configuration.read_text()
    try:
        configuration.write_text("nameserver 8.8.8.9\n")
        request = server.start_call("run_python_code", """
import socket, time
question = b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\5large\\7example\\3org\\0\\0\\x10\\0\\1"
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(150):
    client.sendto(question, ("8.8.8.8", 53))
    time.sleep(0.02)
""")
        result = call(server, "import socket, time; time.sleep(0.5); print(socket.gethostbyname('slow.example.org'))")
        assert text_of(result) == "93.184.1.1"
        server.answer(request)
    finally:
        configuration.write_text(whole)


def test_questions_have_other_numbers_after_a_change(start_server, internet):
    """Two brokers would otherwise count alike, and so would anybody who answers in the place of the server."""
    configuration = internet.directory / "resolv.conf"
    whole = configuration.read_text()
    numbers = []
    try:
        for change in range(2):
            server = start_server(*ON)
            assert text_of(call(server, "import socket; print(socket.gethostbyname('api.example.org'))")) == "93.184.1.1"
            configuration.write_text(whole + f"# {change}\n")
            before = len(internet.seen())
            call(server, """
import socket, time
time.sleep(1.1)  # a change is looked for once in a second
for number in range(4):
    try: socket.gethostbyname(f"n{number}.numbered.example.org")
    except OSError: pass
""")
            numbers.append([line[2] for line in internet.seen()[before:] if line[0] == "dns-id"])
    finally:
        configuration.write_text(whole)
    assert len(numbers[0]) >= 4 and numbers[0] != numbers[1]


def test_reader_that_does_not_read_costs_bounded_memory_and_no_other(start_server):
    server = start_server("--warm", "0", "--parallel", "2", "--network", "on", "--network-limit", "8G")
    request = server.start_call("run_python_code", """
import socket, time
clients = [socket.create_connection(("93.184.1.1", 19)) for _ in range(100)]
print("open", flush=True)
time.sleep(2)
""")
    time.sleep(1)
    begin = time.monotonic()
    assert text_of(call(server, f"{OPEN}\ns.sendall(b'x'); print(s.recv(1))")) == "b'x'"
    assert time.monotonic() - begin < 5
    broker = broker_of(server)
    with open(f"/proc/{broker}/status", encoding="ascii") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert resident < 40 * 1024
    assert server.answer(request)["result"]["content"][0]["text"] == "open"


def test_one_sandbox_knows_no_names_of_another(start_server, internet):
    server = start_server("--warm", "0", "--network", "allow", "--allow-host", "api.example.org,shared.example.org")
    before = len(internet.seen())
    first = text_of(call(server, "import socket; print(socket.gethostbyname('shared.example.org'))"))
    second = text_of(call(server, "import socket; print(socket.gethostbyname('api.example.org'))"))
    third = call(server, f"import socket\nsocket.create_connection(('{first}', 80), 3)")
    assert first == second == "93.184.1.1" and "No route to host" in text_of(third)
    call(server, "import socket; socket.gethostbyname('api.example.org')")
    assert internet.seen()[before:].count(("dns", "api.example.org", "1")) == 2


def test_sandbox_has_only_its_own_descriptors(start_server):
    server = start_server(*ON)
    assert text_of(call(server, "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))"))\
        == "[0, 1, 2] 4"


def test_nothing_is_left_of_many_runs(start_server):
    server = start_server(*ON)
    call(server, f"{OPEN}\n")
    broker = broker_of(server)

    def descriptors():
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    before = descriptors()
    for _ in range(40):
        call(server, f"{OPEN}\ns.sendall(b'x'); s.recv(1)")
    assert not left_after(5, lambda: descriptors() > before)
    assert broker_of(server) == broker
