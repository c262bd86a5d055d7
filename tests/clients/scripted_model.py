"""A model that does as it is told, behind the HTTP interface that codex knows as "responses"."""

import contextlib
import http.server
import json
import threading


class ScriptedModel:
    """Asks for one call of a tool, then says what came of it.

    `offered` is the list of tools that the agent has put before it, `answers` what calls returned.
    """

    def __init__(self, namespace, tool, code):
        self.call = {"type": "function_call", "id": "fc_1", "call_id": "call_1",
                     "namespace": namespace, "name": tool, "arguments": json.dumps({"code": code})}
        self.offered = []
        self.answers = []

    def next_item(self, request):
        self.offered = [tool["name"] for space in request["tools"]
                        if space.get("name") == self.call["namespace"] for tool in space["tools"]]
        self.answers = [item["output"] for item in request["input"]
                        if item["type"] == "function_call_output"]
        if not self.answers:
            return self.call
        return {"type": "message", "id": "msg_1", "role": "assistant",
                "content": [{"type": "output_text", "text": "done"}]}


def handler_of(model):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["content-length"])
            item = model.next_item(json.loads(self.rfile.read(length)))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
            for event in ({"type": "response.created", "response": {"id": "resp_1"}},
                          {"type": "response.output_item.done", "item": item},
                          {"type": "response.completed",
                           "response": {"id": "resp_1", "usage": usage}}):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

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
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
