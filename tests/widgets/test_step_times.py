import math

import pytest

from autosync_widgets.colours import Look
from autosync_widgets.explorer_state import TrialState
from autosync_widgets.figures.changes import changes
from autosync_widgets.figures.step_times import (
    SVG_POINTS,
    BoundLine,
    StepTimes,
    StrategyRow,
    draw_step_times,
    step_time_figure,
    step_times,
    step_times_live,
)
from tests.study.trial_factory import ON_ONE_SERVER
from tests.widgets.requests import FP16, record, request

AR, PS, HALF = request(0), request(1, "ps", ON_ONE_SERVER), request(2, "horovod-fp16", FP16, bound_s=0.1)


def test_trials_of_one_strategy_are_one_row() -> None:
    trials = [
        record(AR, 0.3, 0.25),
        record(PS, 0.5),
        record(HALF, 0.15),
        record(AR, 0.35),
        record(PS, status="failed", stage="build"),
    ]
    assert step_times(trials) == StepTimes(
        "tiny on pair",
        (
            StrategyRow("all-reduce", Look("#D06000", "circle"), False, (0.3, 0.25, 0.35)),
            StrategyRow("ps", Look("#0072B2", "circle"), False, (0.5,), "failed (build)"),
            StrategyRow("horovod-fp16", Look("#D06000", "diamond-open"), True, (0.15,)),
        ),
        (BoundLine("bandwidth bound, lossy", 0.1), BoundLine("bandwidth bound", 0.2)),
    )


def test_live_rows_say_what_their_trial_is_doing() -> None:
    states = [
        TrialState(AR, "running", "steps", (0.3,)),
        TrialState(PS, "failed", "warm-up"),
        TrialState(HALF),
    ]
    rows = step_times_live(states).rows
    assert [(r.label, r.times_s, r.note) for r in rows] == [
        ("all-reduce", (0.3,), "running"),
        ("ps", (), "failed (warm-up)"),
        ("horovod-fp16", (), "queued"),
    ]


def test_two_strategies_of_one_name_are_told_apart() -> None:
    other = request(1, "all-reduce", ON_ONE_SERVER)
    names = [r.label for r in step_times([record(AR, 0.3), record(other, 0.3)]).rows]
    assert names == [f"all-reduce {AR.strategy.id}", f"all-reduce {other.strategy.id}"]


@pytest.mark.parametrize("bound_s", [0.0, math.inf])
def test_no_bound_where_links_limit_nothing(bound_s: float) -> None:
    assert step_times([record(request(bound_s=bound_s), 0.3)]).bounds == ()


def test_the_figure_has_every_point_the_medians_and_the_bounds() -> None:
    figure = step_time_figure([record(AR, 0.3, 0.1, 0.2), record(HALF, 0.15), record(PS, status="failed")])
    points = {t.name: t for t in figure.data}
    assert list(points["all-reduce"].x) == [0.3, 0.1, 0.2]
    assert all(abs(y) < 0.5 for y in points["all-reduce"].y)
    assert all(abs(y + 1) < 0.5 for y in points["horovod-fp16"].y)
    assert list(points["median"].x) == [0.2, 0.15]
    assert [s.x0 for s in figure.layout.shapes if s.type == "line"] == [0.1, 0.2]
    assert list(figure.layout.yaxis.ticktext) == ["all-reduce", "horovod-fp16 (lossy)", "ps"]
    assert any(a.text == "✕ failed (collect)" for a in figure.layout.annotations)


def test_nothing_measured_yet_is_a_sentence() -> None:
    figure = step_time_figure([])
    assert len(figure.layout.annotations) == 1


def test_points_do_not_move_when_more_arrive() -> None:
    few = draw_step_times(step_times_live([TrialState(AR, "running", "steps", (0.3, 0.2))]))
    more = draw_step_times(step_times_live([TrialState(AR, "running", "steps", (0.3, 0.2, 0.4))]))
    steps = changes(few, more)
    assert steps is not None
    assert steps[0]["do"] == "extend"
    assert steps[0]["arrays"]["x"] == [0.4]


def test_many_points_are_drawn_with_webgl() -> None:
    row = StrategyRow("ps", Look("#000000", "circle"), False, (0.1,) * (SVG_POINTS + 1))
    assert draw_step_times(StepTimes("", (row,), ()))["data"][0]["type"] == "scattergl"
    row = StrategyRow("ps", Look("#000000", "circle"), False, (0.1,) * SVG_POINTS)
    assert draw_step_times(StepTimes("", (row,), ()))["data"][0]["type"] == "scatter"
