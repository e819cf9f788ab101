import math
from dataclasses import replace
from typing import Any

import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.runtime.runner import Progress
from autosync_lab.study.event import StudyEvent
from autosync_widgets.study_follower import StudyFollower, opened_study
from autosync_widgets.study_state import Queued, Running, StudyState, advance, study_progress
from tests.study.fake_measuring import FakeRunner
from tests.widgets.search_study import searched, study_record

STARTED = {
    "model": "tiny",
    "cluster": "pair",
    "n_trials": 10,
    "baselines": ["ps", "horovod", "parallax"],
    "algorithm": "autosync",
    "simulator": "cost-model",
}


def events(*happenings: tuple[str, dict[str, Any]], since: int = 0) -> list[StudyEvent]:
    return [
        StudyEvent(n, f"2026-01-31T12:00:{2 * n:02d}.000+00:00", kind, data)
        for n, (kind, data) in enumerate(happenings, since + 1)
    ]


def trial_started(role: str, strategy: str = "s", label: str = "ps") -> tuple[str, dict[str, Any]]:
    return ("trial-started", {"role": role, "round": 0, "label": label, "strategy": strategy})


def test_a_new_study_says_so() -> None:
    state = advance(StudyState("a", "tiny", "pair"), [], [], "new")
    assert (state.title, state.busy, study_progress(state).text) == ("tiny on pair", False, "Nothing measured yet.")


def test_what_was_proposed_waits_until_it_was_measured() -> None:
    first, second = study_record(1), study_record(2, strategy=None)
    proposals = [{"strategy": first.trial.strategy_id, "predicted_s": 0.2}, {"strategy": "other", "predicted_s": None}]
    happened = events(("study-started", STARTED), ("proposal-round", {"round": 0, "proposals": proposals}))
    state = advance(StudyState("a"), happened, [], "running")
    assert state.queued[0] == Queued(str(first.trial.strategy_id), 0.2)
    assert math.isnan(state.queued[1].predicted_s)
    stopped = advance(state, [], [replace(first, trial=replace(first.trial, status="stopped"))], "stopped")
    assert len(stopped.queued) == 2
    state = advance(state, [], [first, second], "running")
    assert [q.strategy_id for q in state.queued] == ["other"]
    assert [p.number for p in state.points] == [1, 2]


def test_a_running_trial_is_shown_with_its_progress_and_gone_when_it_ended() -> None:
    state = advance(StudyState("a"), events(("study-started", STARTED), trial_started("baseline")), [], "running")
    assert state.running == Running("baseline", "ps", "s")
    assert study_progress(state).text == "Baseline ps"
    state = advance(state, [], [], "running", Progress("steps", 2, 5, 0.1))
    assert study_progress(state).text == "Baseline ps · step 2 of 5"
    assert study_progress(advance(state, [], [], "running", Progress("cluster", 0, 5))).text == (
        "Baseline ps · starting the cluster"
    )
    assert advance(state, [], [], "interrupted").running is None
    ended = advance(state, events(("trial-ended", {"role": "baseline"}), since=2), [], "running")
    assert ended.running is None


def test_share_and_time_left_follow_from_the_plan() -> None:
    done = [study_record(1, role="baseline", label="ps"), study_record(2, role="baseline", label="horovod")]
    happened = events(
        ("study-started", STARTED),
        ("baseline-left-out", {"label": "parallax", "why": "no sparse variable."}),
        ("trial-ended", {}),
        ("trial-ended", {}),
        trial_started("proposal"),
    )
    state = advance(StudyState("a"), happened, done, "running")
    progress = study_progress(state)
    # 2 baselines, 10 proposals, one measurement of the anchor, 25 finals; a trial every 2 seconds.
    assert progress.share == 2 / 38
    assert progress.left_s == 36 * 2
    assert progress.text == "Proposal 1 of 10 · about 1 min 12 s left"


def test_a_pause_says_nothing_about_the_time_left() -> None:
    happened = events(("study-started", STARTED), ("trial-ended", {}), ("trial-ended", {}), ("paused", {}))
    paused = advance(StudyState("a"), happened, [study_record(1)], "paused")
    assert (study_progress(paused).left_s, study_progress(paused).text) == (None, "Paused after 1 trial.")
    assert paused.busy
    going = advance(paused, events(("resumed", {}), since=4), [study_record(1)], "running")
    assert study_progress(going).left_s is None


def test_how_a_study_ended_is_said() -> None:
    trials = [
        study_record(1, role="baseline", label="ps"),
        study_record(2),
        study_record(3, status="failed"),
        study_record(4, role="anchor", label="ps"),
    ]
    state = advance(StudyState("a"), events(("study-started", STARTED)), trials, "stopped")
    assert study_progress(state).text == (
        "Stopped; the next start goes on from here: 1 baseline, 1 proposal, 1 measured again, 1 failed."
    )
    failed = advance(state, events(("study-ended", {"state": "failed", "error": "no"}), since=1), trials, "failed")
    assert (failed.error, study_progress(failed).text.split(":")[0]) == ("no", "Failed")
    gone = advance(state, [], trials, "interrupted")
    assert study_progress(gone).text.startswith("Interrupted: its process has gone")
    everything = advance(state, events(("space-exhausted", {}), since=1), trials, "ended")
    assert study_progress(everything).text.startswith("Everything that the search proposes was measured")
    assert study_progress(everything).share == 1.0


def test_simulated_trials_are_called_so() -> None:
    state = advance(StudyState("a"), events(("study-started", STARTED)), [study_record(1, simulated=True)], "ended")
    assert state.simulated
    assert study_progress(state).text.endswith("(simulated).")


def test_a_follower_sees_what_a_study_did() -> None:
    shown: list[StudyState] = []
    with searched() as study:
        follower = StudyFollower(study, shown.append)
        follower.look()
        follower.look()
        assert len(shown) == 2
        assert shown[0].points == ()
        state = shown[1]
        assert (state.phase, state.title) == ("ended", "small on two-nodes")
        assert len(state.points) == len(study.records)
        assert state.speedup is not None
        assert state.queued[1:] == ()
        assert study_progress(state).share == 1.0
        study.run(4, runner=FakeRunner())
        follower.look()
        assert sum(p.role == "proposal" for p in shown[2].points) == 4


def test_a_follower_of_a_closed_store_says_so_and_goes_on() -> None:
    shown: list[StudyState] = []
    study = searched()
    study.close()
    follower = StudyFollower(study, shown.append)
    follower.look()
    follower.look()
    assert [s.trouble != "" for s in shown] == [False, True]
    assert "closed" in shown[1].trouble


def test_no_study_is_an_error_at_once() -> None:
    with pytest.raises(InvalidInput, match="a study is"):
        opened_study(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no trial store"):
        opened_study("/tmp/there-is-none.db")
