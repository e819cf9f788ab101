import math

import plotly.graph_objects as go
import pytest

from autosync_widgets.figures.ranking_curves import (
    CurvePoint,
    RankingCurve,
    RankingCurves,
    draw_ranking_curves,
    ranking_curves_figure,
)

PHYSICS = RankingCurve("physics", (CurvePoint(0, 0.9, 0.88, 0.91), CurvePoint(40, 0.9, 0.87, 0.92)))
LEARNED = RankingCurve("gp", (CurvePoint(5, 0.91, 0.9, 0.92), CurvePoint(40, 0.95, 0.93, 0.96)))


def test_points_stand_at_their_number_of_trials_with_their_interval() -> None:
    ceiling, physics, learned = draw_ranking_curves(RankingCurves("t", (PHYSICS, LEARNED), 0.98))["data"]
    assert ceiling["y"] == [0.98, 0.98]
    assert [round(x) for x in physics["x"]] == [0, 2]
    assert [round(x) for x in learned["x"]] == [1, 2]
    assert physics["x"][1] < learned["x"][1]
    assert learned["error_y"]["array"] == pytest.approx([0.01, 0.01])
    assert learned["error_y"]["arrayminus"] == pytest.approx([0.01, 0.02])
    assert [row[0] for row in learned["customdata"]] == [5, 40]


def test_an_unknown_ceiling_is_not_drawn_and_curves_can_be_told_apart() -> None:
    curves = tuple(RankingCurve(str(i), PHYSICS.points) for i in range(6))
    traces = draw_ranking_curves(RankingCurves("t", curves))["data"]
    assert [t["name"] for t in traces] == [c.name for c in curves]
    assert len({(t["line"]["color"], t["marker"]["symbol"]) for t in traces}) == 6


def test_without_points_it_says_so() -> None:
    assert draw_ranking_curves(RankingCurves("t", (), math.nan))["data"] == []


def test_it_stands_alone() -> None:
    figure = ranking_curves_figure(RankingCurves("t", (PHYSICS, LEARNED), 0.98))
    assert isinstance(figure, go.Figure)
    assert figure.layout.title.text == "t"
