"""How well simulators rank strategies, against the number of trials that they learned from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autosync_widgets.colours import ALL_REDUCE, LIMIT, MIXED, OWN, PEER, SERVER
from autosync_widgets.figures.empty import empty_figure, figure_title

if TYPE_CHECKING:
    import plotly.graph_objects as go

Spec = dict[str, Any]

HEIGHT_PX = 440
APART = 0.07
"""Curves stand this far beside each other, in steps of the axis, so that their intervals can be told apart."""

_LOOKS = (
    (LIMIT, "circle", "dot"),
    (OWN, "diamond", "solid"),
    (SERVER, "square", "solid"),
    (ALL_REDUCE, "triangle-up", "solid"),
    (MIXED, "star", "dash"),
    (PEER, "x", "dashdot"),
)
"""Colour, marker and line of the curves in order: no two share any two of these."""


@dataclass(frozen=True)
class CurvePoint:
    """Ranking accuracy after so many trials, with its 95 percent interval."""

    trials: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class RankingCurve:
    """One simulator's points, in the order of their trials."""

    name: str
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class RankingCurves:
    """What the figure shows.

    Parameters
    ----------
    title : str
    curves : tuple of RankingCurve
    ceiling : float
        What no simulator beats but by luck; NaN if unknown.
    """

    title: str
    curves: tuple[RankingCurve, ...]
    ceiling: float = math.nan


def draw_ranking_curves(data: RankingCurves) -> Spec:
    """The plotly figure of `data` as plain data; colours of text and background are left to the page's theme."""
    trials = sorted({p.trials for curve in data.curves for p in curve.points})
    if not trials:
        return empty_figure("No ranking was tried.")
    lows = [p.low for curve in data.curves for p in curve.points]
    return {
        "data": [*_ceiling(data.ceiling, len(trials)), *_traces(data.curves, trials)],
        "layout": {
            "title": figure_title(data.title),
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": 24, "t": 60, "b": 110},
            "legend": {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},
            "hovermode": "closest",
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "measured trials of the pair that it learned from", "font": {"size": 13}},
                "range": [-0.5, len(trials) - 0.5],
                "tickmode": "array",
                "tickvals": list(range(len(trials))),
                "ticktext": [str(count) for count in trials],
                "zeroline": False,
            },
            "yaxis": {
                "title": {"text": "ranking accuracy on held-out trials", "font": {"size": 13}},
                "range": [min(lows) - 0.02, 1.005],
                "tickformat": ".0%",
                "zeroline": False,
                "automargin": True,
            },
        },
    }


def ranking_curves_figure(data: RankingCurves) -> "go.Figure":
    """The curves as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    return go.Figure(draw_ranking_curves(data)).update_layout(template="plotly_white")


def _ceiling(ceiling: float, count: int) -> list[Spec]:
    if math.isnan(ceiling):
        return []
    return [
        {
            "type": "scatter",
            "uid": "ceiling",
            "name": f"noise ceiling, {ceiling:.1%}",
            "mode": "lines",
            "x": [-0.5, count - 0.5],
            "y": [ceiling, ceiling],
            "line": {"color": LIMIT, "width": 1.5, "dash": "dash"},
            "hovertemplate": "what the true times would have on such measured ones: %{y:.1%}<extra></extra>",
        }
    ]


def _traces(curves: Sequence[RankingCurve], trials: Sequence[int]) -> list[Spec]:
    traces = []
    for number, curve in enumerate(curves):
        colour, symbol, dash = _LOOKS[number % len(_LOOKS)]
        aside = APART * (number - (len(curves) - 1) / 2)
        accuracy = [p.accuracy for p in curve.points]
        traces.append(
            {
                "type": "scatter",
                "uid": f"curve-{number}",
                "name": curve.name,
                "mode": "lines+markers",
                "x": [trials.index(p.trials) + aside for p in curve.points],
                "y": accuracy,
                "customdata": [[p.trials, p.low, p.high] for p in curve.points],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [p.high - p.accuracy for p in curve.points],
                    "arrayminus": [p.accuracy - p.low for p in curve.points],
                    "color": colour,
                    "thickness": 1.2,
                    "width": 3,
                },
                "line": {"color": colour, "width": 2, "dash": dash},
                "marker": {"color": colour, "symbol": symbol, "size": 9},
                "hovertemplate": (
                    f"{curve.name}, %{{customdata[0]}} trials: %{{y:.1%}}<br>"
                    "95 % interval %{customdata[1]:.1%} to %{customdata[2]:.1%}<extra></extra>"
                ),
            }
        )
    return traces
