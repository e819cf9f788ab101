import json
import math
from typing import Any

import pytest

from autosync_widgets.colours import OWN, look_of
from autosync_widgets.figures.changes import changes
from autosync_widgets.figures.search_progress import (
    Level,
    draw_search_progress,
    search_progress,
    search_progress_figure,
    spread,
)
from autosync_widgets.study_state import Plan, StudyState, advance
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER
from tests.widgets.requests import FP16
from tests.widgets.search_study import study_record

PLAN = Plan(50, ("ps", "horovod"), "autosync", "cost-model")


def state_of(*records: Any) -> StudyState:
    return advance(StudyState("a", "tiny", "pair", plan=PLAN), [], records, "running")


STATE = state_of(
    study_record(1, 0.6, "baseline", label="ps", strategy=ON_ONE_SERVER),
    study_record(2, 0.5, "baseline", label="horovod", strategy=ALL_REDUCE),
    study_record(3, 0.55, strategy=ON_ONE_SERVER),
    study_record(4, status="failed"),
    study_record(5, 0.4, strategy=ALL_REDUCE),
    study_record(6, 0.3, strategy=FP16, bound_s=0.1),
    study_record(7, 0.51, "anchor", label="horovod", strategy=ALL_REDUCE),
    study_record(8, status="stopped"),
)


def test_what_the_figure_shows() -> None:
    data = search_progress(STATE)
    assert data.title == "Progress of the search · tiny on pair"
    numbers = {s.name: [p.number for p in s.points] for s in data.found if s.points}
    assert numbers == {"parameter server": [3], "all-reduce": [5], "all-reduce, lossy": [6]}
    assert [p.number for p in data.baselines] == [1, 2]
    assert [p.number for p in data.again] == [7]
    assert [p.number for p in data.failed] == [4]
    assert data.best == ((1, 0.6), (2, 0.5), (5, 0.4), (6, 0.3))
    assert data.levels == (
        Level("ps", 0.6, look_of("ps")),
        Level("horovod", 0.5, look_of("horovod")),
        Level("bandwidth bound", 0.2, None),
        Level("bandwidth bound, lossy", 0.1, None),
    )
    assert data.last == 8


def test_the_drawing_has_a_line_and_a_label_for_every_level() -> None:
    layout = draw_search_progress(search_progress(STATE))["layout"]
    assert [s["y0"] for s in layout["shapes"]] == [0.6, 0.5, 0.2, 0.1]
    texts = [a["text"] for a in layout["annotations"]]
    assert texts == [
        "ps 600 ms",
        "horovod 500 ms",
        "<b>best so far 300 ms</b>",
        "bandwidth bound 200 ms",
        "bandwidth bound, lossy 100 ms",
    ]
    assert layout["annotations"][2]["arrowcolor"] == OWN


@pytest.mark.parametrize(
    "records",
    [
        (),
        (study_record(1, status="failed"),),
        (study_record(1, 0.3, "baseline", label="ps", bound_s=0.0),),
        (study_record(1, 0.3, bound_s=math.inf),),
    ],
    ids=["empty", "failed", "no links", "one"],
)
def test_studies_with_little_in_them_can_be_drawn(records: Any) -> None:
    state = state_of(*records)
    figure = search_progress_figure(state)
    json.dumps(figure.to_plotly_json()["layout"], default=str, allow_nan=False)
    json.dumps(draw_search_progress(search_progress(state)), allow_nan=False)


def test_simulated_times_are_called_so() -> None:
    assert "simulated, nothing was measured" in search_progress(state_of(study_record(1, simulated=True))).title


def test_one_more_trial_is_a_small_change() -> None:
    records = [study_record(1, 0.5, "baseline", label="ps", strategy=ON_ONE_SERVER)]
    records += [study_record(i, 0.4 + i % 17 / 1000) for i in range(2, 600)]
    before = state_of(*records)
    after = advance(before, [], [*records, study_record(600, 0.41)], "running")
    found = changes(*(draw_search_progress(search_progress(s)) for s in (before, after)))
    assert found is not None
    assert [c["do"] for c in found].count("extend") == 1
    assert len(json.dumps(found)) < 1500


def test_labels_keep_apart_and_near() -> None:
    assert spread([10, 50, 90], 100, 16) == [10, 50, 90]
    assert spread([10, 12, 14], 100, 16) == [10, 26, 42]
    assert spread([80, 95, 99], 100, 16) == [68, 84, 100]
    assert spread([], 100) == []
