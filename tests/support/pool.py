"""A broker with the rights of docs/fleet.md, a worker, and a call of alice that runs while others try to reach it."""

import os
import time

from .batch import Batch, line_of
from .nats import PATIENCE, Broker, Client, documented_rights
from .workers import Worker

SPY = "{ user: spy, password: spy }"  # may do everything in the account: what an attacker could know at best
STRANGER = '{ user: eve, password: four, permissions: { publish: ["eve.>", "csm.inbox.eve.>"], subscribe: ["eve.>", "csm.inbox.eve.>"] } }'
PASSWORDS = {"alice": "one", "bob": "two", "worker": "three", "carol": "one", "dave": "two", "drudge": "three", "spy": "spy", "eve": "four"}


class Pool:
    """Everything is stopped with the stack."""

    def __init__(self, stack, directory, configuration=""):
        self.stack, self.directory = stack, directory
        self.broker = Broker(directory, documented_rights(SPY, STRANGER) + configuration)
        stack.callback(self.broker.stop)

    def url(self, user):
        return f"nats://{user}:{PASSWORDS[user]}@127.0.0.1:{self.broker.port}"

    def client(self, user):
        client = Client(self.broker, user, PASSWORDS[user])
        self.stack.callback(client.close)
        return client

    def start_worker(self, *options, user="worker"):
        worker = Worker(self.broker, *options, url=self.url(user))
        self.stack.callback(worker.stop)
        return worker

    def start_batch(self, user, *options):
        batch = Batch("--workers", self.url(user), *options)
        self.stack.callback(batch.stop)
        return batch


class Target:
    """Two calls of alice on a worker with one place, one that runs and one that waits; and all that can be known of them."""

    def __init__(self, pool):
        self.pool = pool
        self.place = pool.directory / "target"
        self.place.mkdir()
        self.spy = pool.client("spy")
        self.spy.subscribe("csm.>")
        self.spy.subscribe("$JS.API.>")
        self.spy.sync()
        self.worker = pool.start_worker("--parallel", "1", "--mount", f"{self.place}:rw", "--mount-under", "/tmp")
        self.batch = pool.start_batch("alice", "--ordered")
        self.batch.write(line_of(f"echo secret; touch {self.place}/begun; while [ ! -e {self.place}/go ]; do sleep 0.05; done", "bash"),
                         line_of("echo second", "bash"))
        self.runs, self.fetches, self.asks, self.inboxes = {}, {}, {}, set()
        end = time.monotonic() + PATIENCE
        while not (len(self.runs) == 2 and self.fetches and len(self.asks) >= 1 and os.path.exists(self.place / "begun")):
            assert time.monotonic() < end, (self.runs, self.asks)
            self._note(self.spy.next())

    def _note(self, message):
        if not message:
            return
        words = message["subject"].split(".")
        if words[:2] == ["csm", "run"]:
            self.runs[words[-1]] = message
        elif "MSG.NEXT" in message["subject"]:
            self.fetches[message["reply"]] = message
        elif words[:2] == ["csm", "front"] and message["reply"] and message["reply"].startswith("csm.worker."):
            self.asks[message["reply"]] = message
        self.inboxes |= {reply for reply in [message["reply"]] if reply and reply.startswith("csm.inbox.")}

    @property
    def running(self):
        """The environment, the instance and the number of the call that runs."""
        _, _, _, environment, _, instance, number = min(self.runs.values(), key=lambda message: int(message["subject"].rsplit(".", 1)[1]))[
            "subject"].split(".")
        return environment, instance, number

    @property
    def question(self):
        """The name of the worker, and numbers of the call and of the last question there."""
        _, _, _, _, worker, call, question = list(self.asks)[-1].split(".")
        return worker, call, question

    def check_unharmed(self):
        """Both calls have the results that they would have had, and the worker has not been started anew."""
        assert self.worker.process.poll() is None and os.path.exists(f"/proc/{self.worker.fleet}")
        assert not self.batch.results, self.batch.results
        (self.place / "go").touch()
        assert self.batch.end() == 0
        assert [result["stdout"] for result in self.batch.results] == ["secret\n", "second\n"]
        assert [result["outcome"] for result in self.batch.results] == ["exited", "exited"]
