import math

import pytest

from autosync_lab.study.summary import distinct_names, ratio, summarize
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER, make_trial


def test_repeats_are_pooled_by_step() -> None:
    (row,) = summarize(
        [
            make_trial("a", step_times_s=((1.0, 2.0), (4.0, 3.0)), setup_s=0.2, bytes_sent={"n0": 1.0, "n1": 3.0}),
            make_trial("b", step_times_s=((6.0, 0.0), (8.0, 7.0)), setup_s=0.4, bytes_sent={"n0": 3.0, "n1": 5.0}),
        ]
    )
    assert (row.trials, row.failed, row.timed_steps) == (2, 0, 4)
    assert (row.low_s, row.step_time_s, row.high_s) == (3.5, 5.0, 6.5)
    assert row.setup_s == pytest.approx(0.3)
    assert row.bytes_sent == {"n0": 2.0, "n1": 4.0}


def test_one_trial_has_its_own_step_time_and_quartiles() -> None:
    trial = make_trial()
    (row,) = summarize([trial])
    assert row.step_time_s == trial.step_time_s
    assert (row.low_s, row.high_s) == trial.step_time_quartiles_s
    assert row.over_bound == pytest.approx(1.5)


def test_rows_come_in_the_order_of_first_appearance_and_origins_stay_apart() -> None:
    rows = summarize(
        [
            make_trial("a", label="ps", strategy=ON_ONE_SERVER),
            make_trial("b"),
            make_trial("c", label="ps", strategy=ON_ONE_SERVER),
            make_trial("d", simulated=True),
            make_trial("e", label="random"),
            make_trial("f", label="random", strategy=ON_ONE_SERVER),
        ]
    )
    assert [(r.label, r.simulated, r.trials) for r in rows] == [
        ("ps", False, 2),
        ("all-reduce", False, 1),
        ("all-reduce", True, 1),
        ("random", False, 1),
        ("random", False, 1),
    ]


def test_failed_and_stopped_trials_add_no_times() -> None:
    failure = make_trial("b", status="failed", step_times_s=((9.0, 9.0),), error="worker 1 ended")
    (row,) = summarize([make_trial("a"), failure, make_trial("c", status="stopped", step_times_s=((9.0, 9.0),))])
    assert (row.trials, row.failed, row.timed_steps, row.step_time_s) == (3, 1, 3, 0.3)
    assert row.failure == failure


def test_a_strategy_that_only_failed() -> None:
    (row,) = summarize([make_trial(status="failed", step_times_s=(), bytes_sent=None)])
    assert math.isnan(row.step_time_s)
    assert math.isnan(row.setup_s)
    assert math.isnan(row.over_bound)
    assert row.bytes_sent is None
    assert row.timed_steps == 0


def test_a_peer_decides_by_itself() -> None:
    (row,) = summarize([make_trial(strategy=None)])
    assert row.is_peer
    assert not row.lossy


def test_names_tell_equal_labels_apart_and_mark_what_is_simulated() -> None:
    rows = summarize(
        [
            make_trial("a"),
            make_trial("b", label="random"),
            make_trial("c", label="random", strategy=ON_ONE_SERVER),
            make_trial("d", simulated=True),
        ]
    )
    assert distinct_names(rows) == (
        "all-reduce",
        f"random {ALL_REDUCE.id}",
        f"random {ON_ONE_SERVER.id}",
        "all-reduce (simulated)",
    )


@pytest.mark.parametrize(("bound", "expected"), [(0.5, 4.0), (0.0, None), (math.inf, None), (math.nan, None)])
def test_ratio(bound: float, expected: float | None) -> None:
    value = ratio(2.0, bound)
    assert math.isnan(value) if expected is None else value == expected
