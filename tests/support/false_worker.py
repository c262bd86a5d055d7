"""A worker that says what no program of ours would say (fleet/wire.h)."""

import os
import time

from .nats import PATIENCE


def environment_of(worker, language="python"):
    """How a worker calls a language with its image."""
    return next(word for word in worker.said.split() if word.startswith(language + "-"))


class TakenCall:
    """A call that was taken out of the queue, and what its front end answers to its worker."""

    def __init__(self, worker, message):
        self.worker, self.client = worker, worker.client
        self.subject, self.data, self.acknowledgment = message["subject"], message["data"], message["reply"]
        _, _, self.pool, _, self.front, self.instance, self.number = self.subject.split(".")
        self.to, self.questions = f"csm.front.{self.pool}.{self.front}.{self.instance}.{self.number}", 0

    def tell(self, data, worker=None, reply=None):
        """Says it; where the answer goes."""
        self.questions += 1
        subject = f"csm.worker.{self.pool}.{self.front}.{worker or self.worker.name}.{self.number}.{self.questions}"
        self.client.publish(self.to, data, subject if reply is None else reply)
        return subject

    def ask(self, data, worker=None, patience=PATIENCE):
        """The answer to it; None: there was none in time."""
        subject = self.tell(data, worker)
        end = time.monotonic() + patience
        while (left := end - time.monotonic()) > 0:
            message = self.client.next(left)
            if message and message["subject"] == subject:
                return message["data"]
        return None

    def acknowledge(self):
        self.client.publish(self.acknowledgment, b"+ACK")


class FalseWorker:
    """Takes calls of an environment, by a client that may do what workers may."""

    def __init__(self, client, environment, pool="default"):
        self.client, self.pool, self.name = client, pool, os.urandom(16).hex()
        self.next = f"$JS.API.CONSUMER.MSG.NEXT.csm-{pool}.{environment}"
        self.inbox = f"csm.inbox.{client.user}.{os.urandom(8).hex()}"
        client.subscribe(self.inbox)
        client.subscribe(f"csm.worker.{pool}.*.*.*.*")

    def take(self, patience=PATIENCE):
        self.client.publish(self.next, b"1", self.inbox)
        end = time.monotonic() + patience
        while (left := end - time.monotonic()) > 0:
            message = self.client.next(left)
            if message and message["subject"].startswith(f"csm.run.{self.pool}."):
                return TakenCall(self, message)
        raise AssertionError("no call came")
