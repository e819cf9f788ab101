from collections.abc import Iterator

import pytest

from autosync_lab.errors import ClusterUnavailable, InvalidInput
from autosync_widgets.explorer_state import (
    ClusterClosed,
    ClusterLost,
    ClusterStarting,
    ClusterUp,
    Event,
    QueueDropped,
    TrialEnded,
    TrialRefused,
    TrialStarted,
)
from autosync_widgets.trial_queue import TrialQueue
from tests.widgets.fake_cluster import FakeCluster
from tests.widgets.requests import CLUSTER, request

OTHER = type(CLUSTER)("single", CLUSTER.nodes[:1])


@pytest.fixture
def fake() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def trials(fake: FakeCluster, events: list[Event]) -> Iterator[TrialQueue]:
    queue = TrialQueue(fake.open, events.append)
    yield queue
    queue.close()


def kinds(events: list[Event]) -> list[type]:
    return [type(e) for e in events if type(e).__name__ != "TrialProgressed"]


def test_trials_run_in_order_in_a_thread_of_their_own(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    trials.submit([request(0, "ps"), request(1, "byteps")])
    assert trials.wait(10)
    assert kinds(events) == [ClusterStarting, ClusterUp, TrialStarted, TrialEnded, TrialStarted, TrialEnded]
    (runner,) = fake.runners
    assert runner.measured == ["ps", "byteps"]
    assert runner.threads == {"autosync-trials"}
    assert trials.worker_pids == {0: 101, 1: 102}


def test_the_pool_stays_warm_for_the_same_cluster_only(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    trials.submit([request(0)])
    trials.submit([request(1)])
    trials.submit([request(2, cluster=OTHER)])
    assert trials.wait(10)
    assert [(r.cluster.name, r.closed) for r in fake.runners] == [("pair", True), ("single", False)]
    assert kinds(events).count(ClusterClosed) == 1


def test_a_failed_trial_does_not_end_the_launch(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    fake.courses = {"ps": "fail", "byteps": "refuse", "horovod": "bug"}
    trials.submit([request(i, name) for i, name in enumerate(("ps", "byteps", "horovod", "all-reduce"))])
    assert trials.wait(10)
    ends = [e for e in events if isinstance(e, TrialEnded | TrialRefused)]
    assert [e.key for e in ends] == [0, 1, 2, 3]
    assert ends[0].trial.status == "failed"
    assert ends[1] == TrialRefused(1, "this model cannot be run (received 'tiny')")
    assert ends[2].error == "RuntimeError: nobody foresaw this"
    assert "Traceback" in ends[2].log
    assert ends[3].trial.status == "ok"


def test_stop_ends_the_running_trial_and_drops_the_rest(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    fake.courses = {"ps": "hang"}
    trials.submit([request(0, "ps"), request(1)])
    assert fake.reached.acquire(timeout=10)
    trials.stop()
    assert trials.wait(10)
    (end,) = [e for e in events if isinstance(e, TrialEnded)]
    assert (end.key, end.trial.status) == (0, "stopped")
    assert kinds(events)[-1] is QueueDropped
    assert not fake.runners[0].closed


def test_a_stop_while_the_cluster_starts_runs_nothing(events: list[Event]):
    fake = FakeCluster()
    queue = TrialQueue(lambda cluster: (queue.stop(), fake.open(cluster))[1], events.append)
    queue.submit([request(0)])
    assert queue.wait(10)
    assert kinds(events) == [ClusterStarting, ClusterUp, QueueDropped]
    queue.close()


def test_a_stop_does_not_reach_the_next_launch(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    fake.courses = {"ps": "hang"}
    trials.submit([request(0, "ps")])
    assert fake.reached.acquire(timeout=10)
    trials.stop()
    trials.submit([request(1)])
    assert trials.wait(10)
    assert [(e.key, e.trial.status) for e in events if isinstance(e, TrialEnded)] == [(0, "stopped"), (1, "ok")]


def test_a_stop_between_two_trials_ends_the_next_at_its_first_sign(fake: FakeCluster, events: list[Event]):
    def on_event(event: Event) -> None:
        events.append(event)
        if event == TrialStarted(1):
            queue.stop()

    queue = TrialQueue(fake.open, on_event)
    queue.submit([request(0), request(1, "ps"), request(2)])
    assert queue.wait(10)
    assert [e.trial.status for e in events if isinstance(e, TrialEnded)] == ["ok", "stopped"]
    queue.close()


def test_a_cluster_that_does_not_start_says_why(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    fake.unavailable = ClusterUnavailable("no namespaces here", stage="network", stderr_tail="EPERM")
    trials.submit([request(0)])
    assert trials.wait(10)
    assert events[-1] == ClusterLost("pair", "no namespaces here", "network", "EPERM")
    fake.unavailable = InvalidInput("this launcher starts nothing")
    trials.submit([request(1)])
    assert trials.wait(10)
    assert events[-1] == ClusterLost("pair", "this launcher starts nothing", "start")
    fake.unavailable = OSError("disk full")
    trials.submit([request(2)])
    assert trials.wait(10)
    assert events[-1].error == "OSError: disk full"
    fake.unavailable = None
    trials.submit([request(3)])
    assert trials.wait(10)
    assert isinstance(events[-1], TrialEnded)


def test_a_pool_that_is_lost_is_closed_and_started_again(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    fake.courses = {"ps": "lose"}
    trials.submit([request(0, "ps"), request(1)])
    assert trials.wait(10)
    assert events[-1] == ClusterLost("pair", "the pool is gone", "start", "killed")
    trials.submit([request(2)])
    assert trials.wait(10)
    assert [r.closed for r in fake.runners] == [True, False]


def test_the_cluster_can_be_closed_and_comes_back(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    trials.submit([request(0)])
    trials.close_cluster()
    assert trials.wait(10)
    assert events[-1] == ClusterClosed()
    assert trials.worker_pids == {}
    trials.submit([request(1)])
    assert trials.wait(10)
    assert [r.closed for r in fake.runners] == [True, False]


def test_close_ends_a_running_trial_and_its_cluster(fake: FakeCluster, events: list[Event], trials: TrialQueue):
    fake.courses = {"ps": "hang"}
    trials.submit([request(0, "ps")])
    assert fake.reached.acquire(timeout=10)
    trials.close()
    trials.close()
    assert trials.wait(10)
    assert fake.runners[0].closed
    with pytest.raises(InvalidInput, match="closed"):
        trials.submit([request(1)])


def test_wait_says_when_it_took_too_long(fake: FakeCluster, trials: TrialQueue):
    fake.courses = {"ps": "hang"}
    trials.submit([request(0, "ps")])
    assert fake.reached.acquire(timeout=10)
    assert not trials.wait(0)
    trials.stop()
    assert trials.wait(10)
