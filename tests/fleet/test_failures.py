"""What fails: each call is answered once, none runs twice, none hangs. A test for each row of docs/fleet.md."""

import collections
import json
import os
import signal
import time

import pytest

from support.batch import line_of
from support.false_worker import FalseWorker, environment_of
from support.nats import PATIENCE, Passage
from support.sample import sample_of
from support.sandbox import descendants_of, stop_process


def mark(directory, seconds):
    """A program that leaves a file for each time that it begins."""
    return f"import os, time, uuid; open('{directory}/%s-' + uuid.uuid4().hex, 'x'); time.sleep({seconds})"


def marked_calls(directory, count, seconds=0.3):
    return [line_of(mark(directory, seconds) % number, id=number) for number in range(count)]


def times_begun(directory):
    return collections.Counter(int(name.split("-")[0]) for name in os.listdir(directory))


def mounted(directory):
    return "--mount", f"{directory}:rw", "--mount-under", "/tmp"


def wait_until(condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_answers(results, count, directory):
    """Each call has one answer, and began at most once; those without an answer of their program are lost."""
    assert sorted(result["id"] for result in results) == list(range(count))
    begun = times_begun(directory)
    assert not begun or max(begun.values()) == 1
    outcomes = collections.Counter(result.get("outcome", "refused") for result in results)
    assert set(outcomes) <= {"exited", "lost", "refused"}, results
    return outcomes


@pytest.mark.thorough
def test_a_killed_worker_loses_what_it_runs_and_nothing_else(start, start_worker, tmp_path):
    """The program alone, which its helper tells at once, and both, which silence tells."""
    places, rounds = 2, sample_of("killed workers", 50, 4)
    steady = start_worker("--parallel", str(places), *mounted(tmp_path))
    for number in range(rounds):
        place = tmp_path / str(number)
        place.mkdir()
        worker = start_worker("--parallel", str(places), *mounted(tmp_path))
        batch = start("--parallel", "16")
        batch.write(*marked_calls(place, 24))
        wait_until(lambda: len(os.listdir(place)) >= 6)
        worker.process.kill()
        if number % 2:
            os.kill(worker.fleet, signal.SIGKILL)
        killed = time.monotonic()
        lost = "lost"
        wait_until(lambda: lost in [result.get("outcome") for result in batch.results] or len(batch.results) == 24)
        assert time.monotonic() - killed < 8
        status = batch.end()
        outcomes = check_answers(batch.results, 24, place)
        assert outcomes["lost"] <= places and status == (1 if outcomes["lost"] else 0)
        for result in batch.results:
            if result.get("outcome") == "lost":
                assert "it may have run in part" in result["error"]["message"]
    assert steady.process.poll() is None


def test_a_call_that_nobody_took_is_delivered_again(start, start_worker, client, tmp_path):
    """Its first worker dies before it has asked whether it may run the call."""
    place = tmp_path / "marks"
    place.mkdir()
    worker = start_worker(*mounted(tmp_path))
    stop_process(worker.process.pid)
    stop_process(worker.fleet)
    thief = FalseWorker(client, environment_of(worker))
    batch = start("--parallel", "1")
    os.kill(worker.fleet, signal.SIGCONT)
    worker.process.send_signal(signal.SIGCONT)
    batch.write(line_of("print(1)"))
    batch.wait_for(1)
    stop_process(worker.fleet)
    batch.write(marked_calls(place, 1, 0)[0])
    assert json.loads(thief.take().data)["language"] == "python"
    os.kill(worker.fleet, signal.SIGCONT)
    began = time.monotonic()
    assert batch.end() == 0
    assert time.monotonic() - began < 12 and len(os.listdir(place)) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("seconds, lost", [(1.5, 0), (7, 1)])
def test_a_front_end_that_loses_its_way_to_the_broker_finds_its_calls(start, start_worker, broker, client, stack, tmp_path, seconds, lost):
    """Those that wait are run later, and one that runs survives 3 s. The others notice nothing."""
    passage, place = Passage(broker), tmp_path / "marks"
    stack.callback(passage.cut)
    place.mkdir()
    start_worker("--parallel", "1", *mounted(tmp_path))
    batch = start("--parallel", "4", url=passage.url)
    batch.write(*marked_calls(place, 4, 4 if lost else 2))
    wait_until(lambda: len(os.listdir(place)) == 1 and client.queued() == 3)
    time.sleep(0.5)  # for the broker's confirmation
    passage.cut()
    time.sleep(seconds)
    passage.open()
    batch.wait_for(4)
    assert check_answers(batch.results, 4, place)["lost"] <= lost


@pytest.mark.thorough
def test_a_call_that_is_delivered_twice_runs_once(start, start_worker, client, tmp_path):
    """Another worker has been told that it may run it."""
    place = tmp_path / "marks"
    place.mkdir()
    worker = start_worker(*mounted(tmp_path))
    thief = FalseWorker(client, environment_of(worker))
    batch = start("--parallel", "1")
    batch.write(line_of("print(1)"))
    batch.wait_for(1)
    stop_process(worker.fleet)
    batch.write(line_of(mark(place, 0) % 0, id="twice"))
    taken = thief.take()
    assert taken.ask(b"taken us") == b"go"
    os.kill(worker.fleet, signal.SIGCONT)  # the message is delivered to it after 5 s, and it asks, too
    time.sleep(3)
    assert taken.ask(b"alive") == b"go"
    time.sleep(4)
    assert taken.ask(b"taken others", worker="0" * 32) == b"gone"
    assert batch.end() == 1
    assert batch.results[1]["outcome"] == "lost" and "its worker us has been silent" in batch.results[1]["error"]["message"]
    assert os.listdir(place) == []


@pytest.mark.thorough
@pytest.mark.parametrize("stopped", ["the program", "its link"])
def test_a_front_end_does_not_take_its_own_stop_for_a_silence(start, start_worker, stopped):
    """Results and signs of life that came meanwhile are heard first."""
    large = ("--output", "8M")
    start_worker("--parallel", "4", *large)
    batch = start("--parallel", "4", *large)
    code = "import time; time.sleep(%d); print('y' * 7_000_000)"
    batch.write(*[line_of(code % seconds, id=seconds) for seconds in (0, 1, 2, 9)])
    batch.wait_for(1)
    (link,) = descendants_of(batch.pid)
    pid = {"the program": batch.pid, "its link": link}[stopped]
    stop_process(pid)
    time.sleep(7)
    os.kill(pid, signal.SIGCONT)
    assert {result["outcome"] for result in batch.wait_for(4)} == {"exited"}
    assert batch.end() == 0


@pytest.mark.thorough
def test_a_front_end_that_was_stopped_for_long_hears_what_its_link_has_said(start, start_worker):
    """The link goes on, since it has a process group of its own: Ctrl-Z does not stop it."""
    start_worker()
    batch = start()
    batch.write(line_of("import time; time.sleep(4); print(1)"))
    time.sleep(2)
    stop_process(batch.pid)
    time.sleep(65)  # more than a link may be silent
    os.kill(batch.pid, signal.SIGCONT)
    assert batch.end() == 0 and batch.results[0]["stdout"] == "1\n", batch.results


def test_a_silent_worker_is_noticed_while_another_call_waits(start, start_worker):
    """For the same worker, which does not say that it is there, either."""
    worker = start_worker("--parallel", "1")
    batch = start()
    batch.write(line_of("import time; time.sleep(600)", id=1), line_of("print(2)", id=2))
    wait_until(lambda: len(descendants_of(worker.pid)) > 1)
    time.sleep(1.5)  # it is asked who has the image
    stop_process(worker.fleet)
    begun = time.monotonic()
    (lost,) = batch.wait_for(1)
    assert time.monotonic() - begun < 12, lost
    assert lost["id"] == 1 and lost["outcome"] == "lost" and "has been silent" in lost["error"]["message"]
    os.kill(worker.fleet, signal.SIGCONT)
    assert batch.end() == 1 and batch.results[1]["stdout"] == "2\n"


@pytest.mark.thorough
def test_a_stopped_worker_ends_what_it_runs(start, start_worker, tmp_path):
    rounds, place = sample_of("stopped workers", 20, 2), tmp_path / "marks"
    start_worker("--parallel", "1", *mounted(tmp_path))
    for _ in range(rounds):
        place.mkdir()
        worker = start_worker("--parallel", "2", *mounted(tmp_path))
        batch = start("--parallel", "8")
        batch.write(*marked_calls(place, 16))
        wait_until(lambda: len(os.listdir(place)) >= 5)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.wait() == 0, worker.said
        assert batch.end() == 0
        assert check_answers(batch.results, 16, place) == {"exited": 16}
        for name in place.iterdir():
            name.unlink()
        place.rmdir()


def test_a_second_signal_ends_a_worker_at_once(start, start_worker, tmp_path):
    place = tmp_path / "marks"
    place.mkdir()
    worker = start_worker("--parallel", "1", *mounted(tmp_path))
    batch = start()
    batch.write(*marked_calls(place, 1, 600))
    wait_until(lambda: len(os.listdir(place)) == 1)
    family = descendants_of(worker.pid)
    worker.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert worker.process.poll() is None
    worker.process.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 1
    assert batch.end(15) == 1 and batch.results[0]["outcome"] == "lost"
    wait_until(lambda: not any(map(is_alive, family)))


def test_calls_survive_a_broker_that_comes_back(start, start_worker, broker, tmp_path):
    """What ran goes on; what waited is gone with the broker's memory, and is refused; later calls need no restart of anything."""
    place = tmp_path / "marks"
    place.mkdir()
    start_worker("--parallel", "2", *mounted(tmp_path))
    batch = start("--parallel", "8")
    batch.write(*marked_calls(place, 6, 5))
    wait_until(lambda: len(os.listdir(place)) == 2)
    broker.kill()
    time.sleep(3)
    broker.start()
    batch.wait_for(6)
    outcomes = check_answers(batch.results, 6, place)
    assert outcomes == {"exited": 2, "refused": 4}
    batch.write(*[line_of("print(1)", id=number) for number in range(6, 10)])
    assert batch.end() == 1
    assert all(result["stdout"] == "1\n" for result in batch.results[6:])


@pytest.mark.thorough
def test_calls_are_lost_when_the_broker_stays_away(start, start_worker, broker, tmp_path):
    place = tmp_path / "marks"
    place.mkdir()
    worker = start_worker("--parallel", "2", *mounted(tmp_path))
    batch = start("--parallel", "8")
    batch.write(*marked_calls(place, 4, 600))
    wait_until(lambda: len(os.listdir(place)) == 2)
    helpers = {worker.fleet}
    family = set(descendants_of(worker.pid)) - helpers
    assert family
    broker.kill()
    gone = time.monotonic()
    batch.wait_for(4)
    assert time.monotonic() - gone < 15
    assert check_answers(batch.results, 4, place) == {"lost": 4}
    batch.write(line_of("print(1)", id=4))
    assert "no broker" in batch.wait_for(5)[4]["error"]["message"]
    wait_until(lambda: not any(map(is_alive, family)), 25)
    broker.start()

    def runs_again():
        count = len(batch.results)
        batch.write(line_of("print(1)", id=9))
        return batch.wait_for(count + 1)[-1].get("stdout") == "1\n"
    wait_until(runs_again, 30)
    assert batch.end() == 1


def test_a_front_end_that_is_told_to_stop_waits_for_its_calls(start, start_worker, tmp_path):
    place = tmp_path / "marks"
    place.mkdir()
    start_worker("--parallel", "1", *mounted(tmp_path))
    batch = start()
    batch.write(*marked_calls(place, 2, 1))
    wait_until(lambda: len(os.listdir(place)) == 1)
    batch.process.send_signal(signal.SIGINT)
    assert batch.process.wait(30) == -signal.SIGINT
    batch.thread.join(10)
    assert check_answers(batch.results, 2, place) == {"exited": 2}


@pytest.mark.thorough
def test_a_killed_front_end_leaves_nothing(start, start_worker, client, tmp_path):
    """Killed alone, its helper takes the calls back; killed with it, nobody lets them begin."""
    worker = start_worker("--parallel", "1", *mounted(tmp_path))
    for number in range(2):
        place = tmp_path / str(number)
        place.mkdir()
        batch = start()
        batch.write(*marked_calls(place, 3, 600))
        wait_until(lambda: len(os.listdir(place)) == 1)
        wait_until(lambda: client.queued() == 2)
        helpers = descendants_of(batch.pid)
        family = set(descendants_of(worker.pid)) - {worker.fleet}
        batch.process.kill()
        if number == 1:
            for helper in helpers:
                os.kill(helper, signal.SIGKILL)
        wait_until(lambda: not any(map(is_alive, family)), 4)
        wait_until(lambda: client.queued() == 0, 1 if number == 0 else 15)
        time.sleep(0.5)
        assert len(os.listdir(place)) == 1
    batch = start()
    batch.write(line_of("print(1)"))
    assert batch.end() == 0
