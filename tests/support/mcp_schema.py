"""What a server writes, against the official JSON schema of its version of MCP.

A Checker is told what was sent, so that it knows which result an answer must be, and checks every
message that came back.
"""

import functools
import json
import pathlib
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, on Debian's Python
    import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "protocol" / "schemas"
STATELESS = "2026-07-28"
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/code-sandbox/output": "JSONRPCNotification",
    "notifications/cancelled": "CancelledNotification",
}
REQUESTS = {"code-sandbox/call": "JSONRPCRequest"}
ERRORS = {-32022: "UnsupportedProtocolVersionError"}


@functools.lru_cache(maxsize=None)
def validator(version, name):
    """For one definition of one version."""
    schema = json.loads((SCHEMAS / f"{version}.json").read_text())
    definitions = "definitions" if "definitions" in schema else "$defs"
    assert name in schema[definitions], f"{version} has no {name}"
    kind = jsonschema.Draft7Validator if definitions == "definitions" \
        else jsonschema.Draft202012Validator
    return kind({"$schema": schema["$schema"], definitions: schema[definitions],
                 "$ref": f"#/{definitions}/{name}"})


def check(version, name, value):
    error = jsonschema.exceptions.best_match(validator(version, name).iter_errors(value))
    assert error is None, f"not a {name} of {version}: {error.message} in {json.dumps(value)[:2000]}"


def key_of(request_id):
    return type(request_id).__name__, request_id


class Checker:
    """One connection. `handshake` is the version that its handshake chose, or None."""

    def __init__(self):
        self.handshake = None
        self.asked = {}  # by id, what has not been answered: whether it is stateless, its method

    def sent(self, message):
        """A request that was sent, as it was sent."""
        if not isinstance(message, dict) or not isinstance(message.get("id"), (int, str)) or "method" not in message:
            return
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        is_stateless = isinstance(meta, dict) and (VERSION_KEY in meta or CAPABILITIES_KEY in meta)
        self.asked[key_of(message["id"])] = (is_stateless, message.get("method"))

    def came(self, message):
        """A message that the server wrote."""
        if isinstance(message, list):
            for one in message:
                self.came(one)
            return
        if message.get("method") in REQUESTS:
            check(self.handshake or STATELESS, REQUESTS[message["method"]], message)
            return
        is_stateless, method = self.asked.pop(key_of(message.get("id")), (False, None))
        if method == "initialize" and "result" in message:
            self.handshake = message["result"].get("protocolVersion")
        version = STATELESS if is_stateless else self.handshake or HANDSHAKES[-1]
        if "method" in message:
            self.check_notification(message)
        elif "error" in message:
            self.check_error(version, message)
        else:
            check(version, "JSONRPCResponse", message)
            if method in RESULTS:
                check(version, RESULTS[method], message["result"])

    def check_notification(self, message):
        """Progress is the same in all versions that a request may have been in."""
        name = NOTIFICATIONS[message["method"]]
        assert self.handshake is not None or name != "ResourceListChangedNotification"
        is_newest = self.handshake is None or name == "SubscriptionsAcknowledgedNotification"
        check(STATELESS if is_newest else self.handshake, name, message)

    @staticmethod
    def check_error(version, message):
        """Before 2025-11-25 the schemas forget errors about what has no id: JSON-RPC says null."""
        name = "JSONRPCErrorResponse"
        if version < "2025-11-25":
            name = "JSONRPCError"
            if "id" in message and message["id"] is None:
                message = {**message, "id": 0}
        check(version, name, message)
        code = message["error"]["code"]
        if version == STATELESS and code in ERRORS:
            check(version, ERRORS[code], message)
