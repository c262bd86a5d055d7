"""A broker of each test's own, workers and batches with it."""

import contextlib
import time

import pytest

from support.batch import Batch
from support.nats import Broker, Client
from support.workers import Worker


@pytest.fixture
def stack():
    with contextlib.ExitStack() as opened:
        yield opened


@pytest.fixture
def start_broker(stack, tmp_path):
    def start(configuration=""):
        broker = Broker(tmp_path, configuration)
        stack.callback(broker.stop)
        return broker
    return start


@pytest.fixture
def broker(start_broker):
    return start_broker()


@pytest.fixture
def client(stack, broker):
    opened = Client(broker)
    stack.callback(opened.close)
    return opened


@pytest.fixture
def start_worker(stack, broker):
    def start(*options, **others):
        worker = Worker(broker, *options, **others)
        stack.callback(worker.stop)
        return worker
    return start


@pytest.fixture
def start(stack, broker):
    """A batch whose calls the workers run."""
    def start_batch(*options, url=None, **others):
        batch = Batch("--workers", url or broker.url, *options, **others)
        stack.callback(batch.stop)
        return batch
    return start_batch


@pytest.fixture
def run(broker):
    def run_lines(lines, *options, url=None):
        begin = time.monotonic()
        batch = Batch("--workers", url or broker.url, *options)
        try:
            batch.write(*lines)
            status = batch.end()
        finally:
            batch.stop()
        batch.seconds = time.monotonic() - begin
        return status, batch.results, batch
    return run_lines
