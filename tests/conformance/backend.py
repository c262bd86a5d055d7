"""A server process behind the bridge: lines go in, and each line that comes out finds its request.

Knows nothing of HTTP. What is sent on is the server's own bytes.
"""

import json
import queue
import subprocess
import threading

from support import mcp_client
from support.mcp_schema import key_of

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
LIST_CHANGED = "notifications/resources/list_changed"  # of no request: only GET could have it


def member(value, *names):
    """The member at the end of that path; None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def keys_of_request(message):
    """By what an answer, or a notification about it, will name this request.

    What has no proper id (None: no JSON at all) is answered without one.
    """
    request_id = member(message, "id")
    token = member(message, "params", "_meta", "progressToken")
    keys = {("id", key_of(request_id if isinstance(request_id, (str, int)) else None))}
    return keys | {("token", key_of(token))} if isinstance(token, (str, int)) else keys


def key_of_output(message):
    """Of a line of the server, the key of the request that it belongs to."""
    if member(message, "method") is None:
        return "id", key_of(member(message, "id"))
    params = member(message, "params")
    if member(params, "progressToken") is not None:
        return "token", key_of(params["progressToken"])
    return "id", key_of(member(params, "_meta", SUBSCRIPTION_KEY))


class Exchange:
    """A request that waits. `lines` has what belongs to it, None when the server has ended."""

    def __init__(self, keys):
        self.keys = keys
        self.lines = queue.Queue()


class Backend:
    """One server. With `alter`, each of its lines is given to that function first."""

    def __init__(self, command, alter=None):
        self.alter = alter or (lambda line: line)
        self.complaints = []  # about what the server did that nobody had asked for
        self._exchanges = {}  # by key
        self._left = set()  # the keys of those whose client did not wait
        self._lock = threading.Lock()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         env=mcp_client.environment_of())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._route(self.alter(line.rstrip(b"\n")))
        with self._lock:
            for exchange in set(self._exchanges.values()):
                exchange.lines.put(None)

    def _route(self, line):
        try:
            message = json.loads(line)
            if member(message, "method") == LIST_CHANGED:
                return
            key = key_of_output(message)
        except ValueError:
            key = None  # no message: a complaint
        with self._lock:
            exchange = self._exchanges.get(key)
            if exchange is not None:
                exchange.lines.put(line)
            elif key not in self._left:
                self.complaints.append(f"nobody waits for {line[:500]!r}")

    def open(self, message):
        """An exchange for this request; None while another one has its id or its token."""
        keys = keys_of_request(message)
        with self._lock:
            if keys & self._exchanges.keys():
                return None
            self._left -= keys
            exchange = Exchange(keys)
            self._exchanges.update(dict.fromkeys(keys, exchange))
            return exchange

    def close(self, exchange, is_answered):
        with self._lock:
            for key in exchange.keys:
                del self._exchanges[key]
            if not is_answered:
                self._left |= exchange.keys

    def send(self, body):
        """One message. White space between its members may be line ends, which would divide it."""
        line = body.translate(bytes.maketrans(b"\r\n", b"  ")) + b"\n"
        with self._lock:
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except BrokenPipeError:
                self.complaints.append("the server does not read any more")

    def stop(self):
        """Ends it as a client over stdio does, and tells what there was to complain of."""
        try:
            self._process.stdin.close()
            status = self._process.wait(mcp_client.PATIENCE)
            if status != 0:
                self.complaints.append(f"the server ended with status {status}")
        except (subprocess.TimeoutExpired, BrokenPipeError) as fault:
            self.complaints.append(str(fault))
        finally:
            self._process.kill()
            self._process.wait()
        self._reader.join(mcp_client.PATIENCE)
        self._process.stdout.close()
        return self.complaints
