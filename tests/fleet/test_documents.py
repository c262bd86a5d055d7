"""The files of docs/fleet.md, as far as they can be tried here."""

import json
import textwrap

from support import mcp_client

TEXT = (mcp_client.ROOT / "docs" / "fleet.md").read_text()


def test_the_deployment_has_the_settings_of_the_pod():
    pod = mcp_client.run_program("doctor", "--profile", "kubernetes").stdout.decode()
    settings = textwrap.dedent(pod[pod.index("      securityContext:"):])
    deployment = TEXT.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert textwrap.indent(settings, 10 * " ") in deployment
    assert "\n      hostUsers: false\n" in deployment and "privileged" not in deployment


def test_the_command_of_the_deployment_is_understood(tmp_path):
    words = json.loads(TEXT.split("command: ", 1)[1].split("]", 1)[0] + "]")
    assert words[0] == "code-sandbox-mcp"
    credentials = tmp_path / "user.creds"
    credentials.write_text("")
    credentials.chmod(0o600)
    replaced = [{"tls://broker.example.org": "nats://127.0.0.1:1", "/etc/nats/user.creds": str(credentials)}.get(word, word) for word in words[1:]]
    done = mcp_client.run_program(*replaced)
    assert done.returncode == 1 and b"connecting to the broker" in done.stderr, done.stderr
