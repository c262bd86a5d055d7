"""A model that does as it is told, behind the HTTP interface that an agent knows its model by."""

import contextlib
import http.server
import json
import threading
from typing import NamedTuple


class Call(NamedTuple):
    """Of a tool, under the name that the agent offers it by."""

    tool: str
    arguments: dict


class Text(NamedTuple):
    text: str


class Picture(NamedTuple):
    media_type: str
    data: bytes


class ScriptedModel:
    """Asks for one call after the other, then says that it is done.

    `api` is one of model_apis. A turn is a Call, or a function that makes one of the results so
    far. `offered` is the list of tools that the agent has put before the model; `results` has what
    the model saw of each call: a list of Text and Picture. `elsewhere` is what the agent asked this
    server for as its proxy, in vain.
    """

    def __init__(self, api, turns):
        self.api, self.turns = api, turns
        self.offered = []
        self.results = []
        self.elsewhere = []

    def next_turn(self, request):
        offered = self.api.offered(request)
        if not offered:  # something beside the conversation, such as a title for it
            return "done"
        self.offered = offered
        self.results = self.api.results(request)
        if len(self.results) >= len(self.turns):
            return "done"
        turn = self.turns[len(self.results)]
        return turn(self.results) if callable(turn) else turn


def handler_of(model):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if not (self.path.startswith("/") and model.api.is_conversation(self.path)):
                self.refuse()
                return
            turn = model.next_turn(json.loads(body))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in model.api.events(turn, len(model.results)):
                name = f"event: {event['type']}\n" if "type" in event else ""
                self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(model.api.END)

        def refuse(self):
            if not self.path.startswith("/"):
                model.elsewhere.append(f"{self.command} {self.path}")
            with contextlib.suppress(ConnectionError):
                self.send_error(404)

        do_GET = do_HEAD = do_CONNECT = refuse

        def log_message(self, *_arguments):
            pass
    return Handler


@contextlib.contextmanager
def serving(model):
    """The address of the model, as long as the block lasts."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(model))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
