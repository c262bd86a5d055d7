"""`doctor --workers`: who is there, and whose images are those that are here."""

import json

from support import images, mcp_client
from support.workers import Worker

SLIM = ("--python-image", "python-slim")


def doctor(broker, *options):
    done = mcp_client.run_program("doctor", "--workers", broker.url, *SLIM, *options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_workers_and_what_differs_are_listed(broker, start_worker, stack, tmp_path, monkeypatch):
    start_worker("--name", "alpha", "--parallel", "3")
    status, text, _ = doctor(broker)
    assert status == 0 and "ok    pool        default: workers 1, places 3" in text
    assert "ok    python      on 1 of 1 workers: image python-slim (python-" in text
    store = tmp_path / "store"
    for name in ("python-slim", "bash"):
        images.copy_image(images.user_images() / name, store / "code-sandbox-mcp" / "images")
    lock = store / "code-sandbox-mcp" / "images" / "bash" / "lock.json"
    lock.write_text(lock.read_text().replace("sha256:0", "sha256:1").replace("sha256:a", "sha256:b"))
    monkeypatch.setenv("XDG_DATA_HOME", str(store))
    stack.callback(Worker(broker, "--name", "beta", "--parallel", "2").stop)
    monkeypatch.delenv("XDG_DATA_HOME")
    status, text, _ = doctor(broker)
    assert status == 0 and "workers 2, places 5" in text and "Workers can run snippets." in text
    lines = {line.split()[1]: line for line in text.splitlines() if line[:5].strip() in ("ok", "weak", "no")}
    assert lines["python"].startswith("ok") and lines["bash"].startswith("weak")
    assert "on 1 of 2 workers" in lines["bash"] and "beta has bash-" in lines["bash"] and "fetch bash --locked lock.json" in lines["bash"]
    assert "beta has no image" in lines["javascript"]
    status, text, _ = doctor(broker, "--json")
    told = json.loads(text)
    assert status == 0 and told["ok"] is True and told["places"] == 5 and told["pool"] == "default"
    assert sorted((worker["name"], worker["places"]) for worker in told["workers"]) == [("alpha", 3), ("beta", 2)]
    assert [(one["name"], one["workers"], one["ok"]) for one in told["languages"]][:4] == [
        ("python", 2, True), ("javascript", 1, False), ("bash", 1, False), ("typescript", 1, False)]


def test_nobody_is_there(broker, start_worker):
    start_worker("--pool", "other")
    status, text, _ = doctor(broker)
    assert status == 1 and "no    pool        default: workers 0, places 0" in text and "No worker can run snippets." in text
    assert doctor(broker, "--pool", "other")[0] == 0
    broker.kill()
    status, text, said = doctor(broker, "--json")
    assert status == 1 and json.loads(text)["ok"] is False and "connecting to the broker" in json.loads(text)["error"]
    assert "connecting to the broker" in said
