import json
import math
from typing import Any

from autosync_widgets.figures.changes import changes
from autosync_widgets.figures.predicted_vs_measured import (
    draw_predictions,
    predicted_vs_measured_figure,
    predictions,
    rank_lines,
)
from autosync_widgets.search_points import ACCURACY_WINDOW, extended
from autosync_widgets.study_state import Plan, StudyState, advance
from tests.study.trial_factory import ON_ONE_SERVER
from tests.widgets.search_study import study_record


def state_of(*records: Any, simulator: str = "cost-model") -> StudyState:
    plan = Plan(50, ("ps",), "autosync", simulator)
    return advance(StudyState("a", "tiny", "pair", plan=plan), [], records, "running")


STATE = state_of(
    study_record(1, 0.6, "baseline", label="ps", strategy=ON_ONE_SERVER),
    study_record(2, 0.5, predicted_s=0.4, strategy=ON_ONE_SERVER),
    study_record(3, 0.4, predicted_s=0.3),
    study_record(4, status="failed", predicted_s=0.1),
    study_record(5, 0.45, predicted_s=0.2),
)
LATER = state_of(
    *(study_record(i, s, predicted_s=p) for i, (p, s) in enumerate([(1, 1), (2, 3), (3, 2), (4, 4), (5, 5), (6, 6)], 1))
)


def test_only_predicted_trials_that_succeeded_are_compared() -> None:
    data = predictions(STATE)
    numbers = {s.name: [p.number for p in s.points] for s in data.series if s.points}
    assert numbers == {"parameter server": [2], "all-reduce": [3, 5]}
    assert [(line.point.number, line.predicted, line.measured) for line in data.lines] == [
        (2, 3, 3),
        (3, 2, 1),
        (5, 1, 2),
    ]
    assert data.accuracy == ()
    assert predictions(LATER).accuracy == ((5, 9 / 10), (6, 14 / 15))
    assert (data.missing, data.simulated) == ("", False)


def test_equal_times_share_the_mean_place() -> None:
    points = extended((), [study_record(i, s, predicted_s=s) for i, s in enumerate((0.2, 0.1, 0.2), 1)])
    assert [(line.predicted, line.measured) for line in rank_lines(points)] == [(2.5, 2.5), (1, 1), (2.5, 2.5)]


def test_lines_are_separated_and_joined_at_both_orders() -> None:
    spec = draw_predictions(predictions(STATE))
    orders = next(t for t in spec["data"] if t["uid"] == "order-all-reduce")
    assert (orders["x"], orders["y"]) == ([0, 1, None] * 2, [2, 1, None, 1, 2, None])
    assert "place 1 predicted, 2 came" in orders["customdata"][3]
    headings = [a["text"] for a in draw_predictions(predictions(LATER))["layout"]["annotations"]]
    assert headings[1:] == ["Order of the newest 6", "Ranking accuracy: 93%"]


def test_why_nothing_is_predicted_is_said() -> None:
    assert "will appear" in predictions(state_of()).missing
    assert "no simulator" in predictions(state_of(study_record(1), simulator="none")).missing
    assert "The simulator rnn said no step times" in predictions(state_of(study_record(1), simulator="rnn")).missing
    assert draw_predictions(predictions(state_of()))["data"] == []


def test_the_axis_says_where_times_come_from() -> None:
    simulated = state_of(study_record(1, 0.5, predicted_s=0.4, simulated=True))
    spec = draw_predictions(predictions(simulated))
    assert spec["layout"]["yaxis"]["title"]["text"] == "simulated"
    assert "nothing was measured" in spec["layout"]["title"]["text"]
    assert draw_predictions(predictions(STATE))["layout"]["yaxis"]["title"]["text"] == "measured"


def test_it_stands_alone_and_is_valid_json() -> None:
    assert len(predicted_vs_measured_figure(STATE).data) == len(draw_predictions(predictions(STATE))["data"])
    json.dumps(draw_predictions(predictions(STATE)), allow_nan=False)
    assert math.isnan(STATE.points[1].accuracy)


def test_one_more_trial_resends_the_newest_lines_only() -> None:
    records = [study_record(i, 0.4 + i % 17 / 1000, predicted_s=0.4 + i % 13 / 1000) for i in range(1, 600)]
    before = state_of(*records)
    after = advance(before, [], [*records, study_record(600, 0.41, predicted_s=0.4)], "running")
    found = changes(*(draw_predictions(predictions(s)) for s in (before, after)))
    assert found is not None
    assert sorted(c["trace"] for c in found if c["do"] == "extend") == [2, 14]
    assert len(json.dumps(found)) < 300 * ACCURACY_WINDOW
