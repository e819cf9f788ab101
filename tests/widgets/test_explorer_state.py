from functools import reduce

import pytest

from autosync_widgets.explorer_state import (
    Cleared,
    ClusterClosed,
    ClusterLost,
    ClusterStarting,
    ClusterUp,
    Event,
    ExplorerState,
    Launched,
    Noticed,
    QueueDropped,
    StopAsked,
    TrialEnded,
    TrialProgressed,
    TrialRefused,
    TrialStarted,
    advance,
    launch_progress,
)
from tests.widgets.requests import CLUSTER, record, request

A, B = request(0, "ps"), request(1, "all-reduce")


def after(*events: Event | tuple[float, Event]) -> ExplorerState:
    """The state after events, each at time 0 unless it comes with its time."""
    timed = [e if isinstance(e, tuple) else (0.0, e) for e in events]
    return reduce(lambda state, te: advance(state, te[1], te[0]), timed, ExplorerState())


def phases(state: ExplorerState) -> list[str]:
    return [t.phase for t in state.trials]


def test_a_launch_runs_through_its_phases() -> None:
    state = after(Launched((A, B)))
    assert (phases(state), state.busy) == (["queued", "queued"], True)
    state = after(Launched((A, B)), ClusterStarting("pair"), ClusterUp("pair"), TrialStarted(0))
    assert (phases(state), state.cluster_phase, state.cluster) == (["running", "queued"], "up", "pair")
    state = after(
        Launched((A, B)), TrialStarted(0), TrialProgressed(0, "steps", 0.5), TrialProgressed(0, "steps", 0.25)
    )
    assert state.trials[0].step_times_s == (0.5, 0.25)
    state = advance(state, TrialEnded(0, record(A, 0.5, 0.25, 0.25)), 9.0)
    assert (phases(state), state.trials[0].step_times_s, state.busy) == (["ok", "queued"], (0.5, 0.25, 0.25), True)
    state = advance(state, TrialEnded(1, record(B, 0.1)), 9.0)
    assert not state.busy


def test_a_failed_trial_keeps_stage_error_and_log_and_the_next_goes_on() -> None:
    failed = record(A, status="failed", stage="build", error="exited", stderr_tail="boom", exit_code=3)
    state = after(Launched((A, B)), TrialStarted(0), TrialEnded(0, failed), TrialStarted(1))
    first = state.trials[0]
    assert (first.phase, first.stage, first.error, first.stderr_tail) == ("failed", "build", "exited", "boom")
    assert phases(state) == ["failed", "running"]


def test_a_refused_trial_has_failed() -> None:
    state = after(Launched((A, B)), TrialStarted(0), TrialRefused(0, "no such node", "traceback"))
    assert (phases(state), state.trials[0].error) == (["failed", "queued"], "no such node")


def test_stop_shows_until_the_running_trial_has_ended() -> None:
    state = after(Launched((A, B)), TrialStarted(0), StopAsked())
    assert state.stopping
    assert launch_progress(state, 1.0).text == "Stopping …"
    state = advance(state, TrialEnded(0, record(A, 0.5, status="stopped")), 1.0)
    state = advance(state, QueueDropped(), 1.0)
    assert (phases(state), state.stopping, state.busy) == (["stopped", "stopped"], False, False)


def test_what_was_stopped_does_not_count_as_done() -> None:
    stopped = record(A, 0.5, status="stopped", stage="steps")
    state = after(Launched((A, B)), TrialStarted(0), TrialEnded(0, stopped), QueueDropped())
    assert launch_progress(state, 1.0).share == pytest.approx((0.3 + 0.7 / 4) / 2)


def test_stop_without_anything_to_stop_changes_nothing() -> None:
    assert not after(StopAsked()).stopping


def test_a_lost_cluster_drops_the_queue_and_says_why() -> None:
    state = after(Launched((A, B)), ClusterStarting("pair"), ClusterLost("pair", "no namespaces", "network", "EPERM"))
    assert (phases(state), state.cluster_phase) == (["stopped", "stopped"], "closed")
    assert state.notice is not None
    assert state.notice.text == "Cluster pair is not available (stage: network): no namespaces"
    assert state.notice.log == "EPERM"


def test_the_next_launch_forgets_the_notice_and_appends() -> None:
    done = after(Noticed("disk full"), Launched((A,)), TrialEnded(0, record(A, 0.5)))
    assert done.notice is None
    again = advance(done, Launched((request(1, "ps"),)), 0.0)
    assert (phases(again), len(again.launch)) == (["ok", "queued"], 1)


def test_only_trials_of_the_latest_model_and_cluster_are_shown() -> None:
    other = request(1, "ps", cluster=type(CLUSTER)("single", CLUSTER.nodes[:1]))
    state = after(Launched((A,)), TrialEnded(0, record(A, 0.5)), Launched((other,)))
    assert [t.request.key for t in state.shown] == [1]
    back = advance(advance(state, QueueDropped(), 0.0), Launched((request(2, "ps"),)), 0.0)
    assert [t.request.key for t in back.shown] == [0, 2]


def test_clear_waits_for_the_end() -> None:
    running = after(Launched((A,)), TrialStarted(0))
    assert advance(running, Cleared(), 0.0) == running
    done = advance(running, TrialEnded(0, record(A, 0.5)), 0.0)
    assert advance(done, Cleared(), 0.0).trials == ()


def test_late_progress_of_an_ended_trial_is_ignored() -> None:
    state = after(Launched((A,)), TrialStarted(0), TrialEnded(0, record(A, 0.5)))
    assert advance(state, TrialProgressed(0, "steps", 9.0), 0.0) == state


def test_closing_the_cluster_forgets_it() -> None:
    state = after(ClusterStarting("pair"), ClusterUp("pair"), ClusterClosed())
    assert (state.cluster, state.cluster_phase) == ("", "closed")


def test_progress_grows_with_every_stage_and_step() -> None:
    events: list[Event] = [Launched((A, B)), TrialStarted(0)]
    events += [TrialProgressed(0, stage) for stage in ("model", "build", "warm-up", "steps")]
    events += [TrialProgressed(0, "steps", 0.5)] * 4
    events += [TrialProgressed(0, "collect"), TrialEnded(0, record(A, 0.5)), TrialStarted(1)]
    shares = [launch_progress(after(*events[:n]), 1.0).share for n in range(1, len(events) + 1)]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([], "Nothing launched yet."),
        ([Launched((A, B)), ClusterStarting("pair")], "Starting cluster pair …"),
        ([Launched((A, B)), ClusterUp("pair")], "Waiting for the next trial …"),
        ([Launched((A, B)), TrialStarted(0), TrialProgressed(0, "build")], "Trial 1 of 2 · ps · building the step"),
        (
            [
                Launched((A, B)),
                TrialStarted(0),
                TrialProgressed(0, "build"),
                TrialProgressed(0, "steps"),
                TrialProgressed(0, "steps", 2.0),
            ],
            "Trial 1 of 2 · ps · step 1 of 4 · about 22 s left",
        ),
        (
            [
                Launched((A, B)),
                TrialEnded(0, record(A, 0.5)),
                TrialEnded(1, record(B, status="failed", stage="steps")),
            ],
            "Ended: 1 measured, 1 failed.",
        ),
    ],
)
def test_progress_in_words(events: list[Event], text: str) -> None:
    assert launch_progress(after(*events), 10.0).text == text


def test_time_left_is_learnt_from_trials_that_ended() -> None:
    # The first trial took 8 s in all; the second has run for 3 s and times no step yet; a third waits.
    state = after(
        Launched((A, B, request(2, "byteps"))),
        TrialStarted(0),
        TrialEnded(0, record(A, 0.5, total_s=8.0)),
        (90.0, TrialStarted(1)),
        (100.0, TrialProgressed(1, "build")),
    )
    assert launch_progress(state, 103.0).left_s == pytest.approx(5 + 8)
    # Two of its four steps took 0.5 s each.
    state = advance(state, TrialProgressed(1, "steps", 0.4), 103.0)
    state = advance(state, TrialProgressed(1, "steps", 0.6), 103.0)
    assert launch_progress(state, 104.0).left_s == pytest.approx(2 * 0.5 + 8)


def test_time_left_is_unknown_before_anything_was_timed() -> None:
    assert launch_progress(after(Launched((A,)), TrialStarted(0)), 5.0).left_s is None
