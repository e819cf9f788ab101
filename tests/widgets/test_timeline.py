import json
import math

import pytest

from autosync_lab.runtime.trial import Event
from autosync_widgets.figures.timeline import (
    MOST_BARS,
    MOST_WORKERS,
    WORK,
    Bar,
    Lane,
    StepLanes,
    TimelineData,
    draw_timeline,
    step_lanes,
    timeline_figure,
    workers_of,
)
from tests.widgets.test_colours import JUPYTERLAB_BACKGROUNDS, contrast

W0, W1 = "replica 0 on a", "replica 1 on b"
EVENTS = (
    Event(W1, "all-reduce", "group0", 0.2, 0.5),
    Event(W0, "push", "x", 0.1, 0.3),
    Event(W0, "push", "y", 0.2, 0.4),
    Event(W0, "push", "z", 0.3, 0.35),
    Event(W0, "compute", "forward and backward", 0.0, 0.2),
)


def test_lanes_come_by_worker_and_kind_and_overlaps_lie_apart() -> None:
    assert step_lanes("measured", EVENTS, 0.5) == StepLanes(
        "measured",
        0.5,
        (
            Lane(W0, "compute", (Bar("forward and backward", 0.0, 0.2, 0, 1),)),
            Lane(W0, "push", (Bar("x", 0.1, 0.3, 0, 2), Bar("y", 0.2, 0.4, 1, 2), Bar("z", 0.3, 0.35, 0, 2))),
            Lane(W1, "all-reduce", (Bar("group0", 0.2, 0.5, 0, 1),)),
        ),
    )


def test_workers_are_in_their_order_and_only_some_are_shown() -> None:
    names = [f"replica {i} on n{i}" for i in range(12)]
    events = [Event(n, "compute", "c", 0.0, 1.0) for n in reversed(names)]
    assert workers_of(events) == names
    some = step_lanes("measured", events, 1.0)
    assert ([lane.worker for lane in some.lanes], some.hidden) == (names[:MOST_WORKERS], 12 - MOST_WORKERS)
    one = step_lanes("measured", events, 1.0, [names[11]])
    assert ([lane.worker for lane in one.lanes], one.hidden) == ([names[11]], 11)


def test_very_many_bars_become_the_times_in_which_a_lane_is_busy() -> None:
    events = [Event(W0, "pull", f"v{i}", i * 1e-3, (i + 1) * 1e-3) for i in range(MOST_BARS)]
    events += [Event(W0, "pull", "late", 10.0, 11.0)]
    (lane,) = step_lanes("measured", events, 11.0).lanes
    assert [b.name for b in lane.bars] == ["1,200 transfers", "1 transfer"]
    assert lane.bars[0].end_s == pytest.approx(MOST_BARS * 1e-3)


def test_predicted_is_above_measured_on_one_axis() -> None:
    steps = (step_lanes("predicted (simulated)", EVENTS, 0.55), step_lanes("measured", EVENTS, 0.6))
    spec = draw_timeline(TimelineData("ps", steps))
    assert [t["uid"] for t in spec["data"]] == ["compute", "push", "all-reduce"]
    compute = spec["data"][0]
    predicted, measured = compute["y"]
    assert predicted > measured
    assert (compute["base"], compute["x"]) == ([0.0, 0.0], [0.2, 0.2])
    assert "predicted (simulated)" in compute["customdata"][0]
    assert "measured" in compute["customdata"][1]
    texts = [a["text"] for a in spec["layout"]["annotations"]]
    assert texts == [
        "<b>predicted (simulated)</b>: a step takes 550 ms",
        "<b>measured</b>: a step takes 600 ms",
    ]
    assert spec["layout"]["xaxis"]["range"][1] > 0.6
    assert spec["layout"]["yaxis"]["ticktext"] == [W0, W1] * 2


def test_no_events_and_unknown_lanes_can_be_drawn() -> None:
    assert draw_timeline(TimelineData("", ()))["data"] == []
    assert draw_timeline(TimelineData("", (step_lanes("measured", (), math.nan),)))["data"] == []
    strange = TimelineData("t", (step_lanes("measured", (Event("w", "broadcast", "b", 0.0, 1.0),), math.nan),))
    json.dumps(draw_timeline(strange), allow_nan=False)
    assert len(timeline_figure(strange).data) == 1


@pytest.mark.parametrize("background", JUPYTERLAB_BACKGROUNDS)
def test_every_kind_of_work_stands_out(background: str) -> None:
    assert all(contrast(colour, background) >= 3 for colour in WORK.values())
