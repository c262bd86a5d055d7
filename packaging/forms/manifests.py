"""Files by which registries and clients find and start the server, all from names.json and the version."""

import base64
import json
import urllib.parse

from forms import archives
from forms.npm import as_json
from forms.release import COMMAND, EPOCH, NAMES, PROGRAMS, ROOT, VERSION

SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def client_entry():
    """How a client's configuration starts it from npm: this very version."""
    return {"command": "npx", "args": ["-y", f"{NAMES['npm']}@{VERSION}"]}


def server_json():
    packages = [("npm", NAMES["npm"], "npx"), ("pypi", NAMES["pypi"], "uvx")]
    return {"$schema": SERVER_SCHEMA, "name": NAMES["registry"], "title": NAMES["title"],
            "description": NAMES["description"], "version": VERSION,
            "packages": [{"registryType": kind, "identifier": name, "version": VERSION, "runtimeHint": hint,
                          "transport": {"type": "stdio"}} for kind, name, hint in packages]}


def gemini_extension():
    return {"name": NAMES["client"], "version": VERSION, "description": NAMES["description"],
            "mcpServers": {NAMES["client"]: client_entry()}}


def install_links():
    """Links for the read-me file of a published release."""
    entry = json.dumps(client_entry(), separators=(",", ":"))
    named = json.dumps({"name": NAMES["client"], **client_entry()}, separators=(",", ":"))
    encoded = base64.b64encode(entry.encode()).decode()
    query = urllib.parse.urlencode({"name": NAMES["client"], "config": encoded})
    return {"vscode": f"vscode:mcp/install?{urllib.parse.quote(named)}",
            "cursor": f"cursor://anysphere.cursor-deeplink/mcp/install?{query}"}


def write_all(output):
    for name, value in (("server.json", server_json()), ("gemini-extension.json", gemini_extension()),
                        ("install-links.json", install_links())):
        (output / name).write_text(as_json(value), encoding="utf-8")


def bundle_manifest():
    """Of an MCP bundle, for hosts that install servers by a click."""
    return {"manifest_version": "0.3", "name": COMMAND, "display_name": NAMES["title"], "version": VERSION,
            "description": NAMES["description"], "author": {"name": NAMES["author"]}, "license": NAMES["license"],
            "server": {"type": "binary", "entry_point": f"bin/{COMMAND}",
                       "mcp_config": {"command": f"${{__dirname}}/bin/{COMMAND}", "args": [], "env": {}}},
            "compatibility": {"platforms": ["linux"]}}


def write_bundle(output, architecture, tree, notices):
    members = archives.Members()
    members.add("manifest.json", as_json(bundle_manifest()))
    members.add("LICENSE", (ROOT / "LICENSE").read_bytes())
    for name, text in notices.items():
        members.add(f"licenses/{name}", text)
    for folder in PROGRAMS:
        members.add_tree(tree / folder, f"{folder}/")
    path = output / f"{COMMAND}-{VERSION}-linux-{architecture}.mcpb"
    path.write_bytes(members.zip(EPOCH))
    return path
