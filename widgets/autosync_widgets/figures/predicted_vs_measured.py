"""What a simulator predicted of each trial against what came of it: both times, both orders, and ranking accuracy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autosync_widgets.colours import LIMIT, OWN
from autosync_widgets.figures.empty import empty_figure, figure_title
from autosync_widgets.figures.found_series import SVG_POINTS, FoundSeries, draw_series, found_series
from autosync_widgets.figures.log_ticks import log_axis, seconds_range
from autosync_widgets.search_points import ACCURACY_WINDOW, SearchPoint

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from autosync_widgets.study_state import StudyState

Spec = dict[str, Any]

HEIGHT_PX = 430
FEWEST_RANKED = 5
"""Fewer trials have too few pairs for their share of right ones to mean anything."""
TOP_PX = 76
BOTTOM_PX = 96

_SCATTER, _ORDERS, _ACCURACY = [0.0, 0.4], [0.53, 0.7], [0.79, 1.0]
"""Where the three parts are, as shares of the width."""


@dataclass(frozen=True)
class RankLine:
    """One trial's place in the predicted and in the measured order, 1 the fastest; equal ones share the mean place."""

    point: SearchPoint
    predicted: float
    measured: float


@dataclass(frozen=True)
class PredictionData:
    """What the figure shows.

    Parameters
    ----------
    title : str
    simulated : bool
        True if a simulator produced the step times too.
    series : tuple of FoundSeries
        See `found_series`.
    lines : tuple of RankLine
        Of the newest `ACCURACY_WINDOW` predicted trials, in the order in which they were measured.
    accuracy : tuple of (number, share)
        Ranking accuracy after each predicted trial, from the `FEWEST_RANKED`th on.
    missing : str
        Why there is nothing to show; empty if there is.
    """

    title: str
    simulated: bool
    series: tuple[FoundSeries, ...]
    lines: tuple[RankLine, ...]
    accuracy: tuple[tuple[int, float], ...]
    missing: str


def predictions(state: "StudyState") -> PredictionData:
    """The figure of a study."""
    predicted = [p for p in state.points if p.predicted]
    return PredictionData(
        f"Predictions · {state.title}{' · simulated, nothing was measured' if state.simulated else ''}",
        state.simulated,
        found_series(predicted),
        rank_lines(predicted[-ACCURACY_WINDOW:]),
        tuple((p.number, p.accuracy) for p in predicted[FEWEST_RANKED - 1 :] if not math.isnan(p.accuracy)),
        "" if predicted else _missing(state),
    )


def rank_lines(points: Sequence[SearchPoint]) -> tuple[RankLine, ...]:
    """Places of some trials in both orders."""
    predicted = _places([p.predicted_s for p in points])
    measured = _places([p.step_time_s for p in points])
    return tuple(map(RankLine, points, predicted, measured))


def _places(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(v) + (order.count(v) + 1) / 2 for v in values]


def _missing(state: "StudyState") -> str:
    if state.plan is None or not any(p.role == "proposal" and p.status == "ok" for p in state.points):
        return "Predictions will appear here, beside the step times of what the search proposed."
    if state.plan.simulator == "none":
        return "This search uses no simulator, so nothing is predicted."
    return f"The simulator {state.plan.simulator} said no step times of these trials, in seconds."


def draw_predictions(data: PredictionData) -> Spec:
    """The plotly figure of `data` as plain data; colours of text and background are left to the page's theme."""
    if data.missing:
        return empty_figure(data.missing)
    points = [p for series in data.series for p in series.points]
    low, high = seconds_range([s for p in points for s in (p.predicted_s, p.step_time_s)])
    webgl = len(points) > SVG_POINTS
    came = "simulated" if data.simulated else "measured"
    last = max(p.number for p in points)
    return {
        "data": [
            {
                "type": "scatter",
                "uid": "equal",
                "name": "as predicted",
                "mode": "lines",
                "x": [low, high],
                "y": [low, high],
                "line": {"color": LIMIT, "width": 1.5, "dash": "dash"},
                "hoverinfo": "skip",
            },
            *(draw_series(s, lambda p: p.predicted_s, lambda p: p.step_time_s, webgl) for s in data.series),
            *(_orders(series, data.lines) for series in data.series),
            {
                "type": "scatter",
                "uid": "coin",
                "name": "a coin",
                "mode": "lines",
                "showlegend": False,
                "xaxis": "x3",
                "yaxis": "y3",
                "x": [0, 1_000_000],
                "y": [0.5, 0.5],
                "line": {"color": LIMIT, "width": 1.5, "dash": "dash"},
                "hovertemplate": "half: what a coin gets right<extra></extra>",
            },
            {
                "type": "scatter",
                "uid": "accuracy",
                "name": "ranking accuracy",
                "mode": "lines",
                "showlegend": False,
                "xaxis": "x3",
                "yaxis": "y3",
                "x": [number for number, _ in data.accuracy],
                "y": [round(share, 4) for _, share in data.accuracy],
                "line": {"color": OWN, "width": 2.5},
                "hovertemplate": "after trial %{x}: %{y:.0%} of pairs<extra></extra>",
            },
        ],
        "layout": {
            "title": figure_title(data.title),
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": 24, "t": TOP_PX, "b": BOTTOM_PX},
            "legend": {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},
            "hovermode": "closest",
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {"title": {"text": "predicted", "font": {"size": 13}}, "domain": _SCATTER} | log_axis(low, high),
            "yaxis": {"title": {"text": came, "font": {"size": 13}}} | log_axis(low, high),
            "xaxis2": {
                "domain": _ORDERS,
                "anchor": "y2",
                "range": [-0.12, 1.12],
                "tickmode": "array",
                "tickvals": [0, 1],
                "ticktext": ["predicted", came],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis2": {
                "anchor": "x2",
                "title": {"text": "place (1 is fastest)", "font": {"size": 13}},
                "range": [len(data.lines) + 0.8, 0.2],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "automargin": True,
            },
            "xaxis3": {
                "domain": _ACCURACY,
                "anchor": "y3",
                "title": {"text": "trial", "font": {"size": 13}},
                "range": [0, max(10, last) + 1],
                "zeroline": False,
            },
            "yaxis3": {
                "anchor": "x3",
                "range": [0, 1.03],
                "tickformat": ".0%",
                "fixedrange": True,
                "zeroline": False,
                "automargin": True,
            },
            "annotations": [
                _heading(_SCATTER, "Step time of each trial"),
                _heading(_ORDERS, f"Order of the newest {len(data.lines)}"),
                _heading(_ACCURACY, _accuracy_words(data.accuracy)),
            ],
        },
    }


def predicted_vs_measured_figure(state: "StudyState") -> "go.Figure":
    """Predictions of a study as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    return go.Figure(draw_predictions(predictions(state))).update_layout(template="plotly_white")


def _orders(series: FoundSeries, lines: Sequence[RankLine]) -> Spec:
    own = [line for line in lines if line.point.look == series.look]
    # An empty third point separates a line from the next one.
    captions = [f"{line.point.caption}<br>place {line.predicted:g} predicted, {line.measured:g} came" for line in own]
    return {
        "type": "scatter",
        "uid": f"order-{series.name}",
        "name": series.name,
        "legendgroup": series.name,
        "showlegend": False,
        "mode": "lines+markers",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": [x for _ in own for x in (0, 1, None)],
        "y": [y for line in own for y in (line.predicted, line.measured, None)],
        "customdata": [text for caption in captions for text in (caption, caption, None)],
        "line": {"color": series.look.colour, "width": 1.5},
        "marker": {"color": series.look.colour, "symbol": series.look.symbol, "size": 5},
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _heading(domain: list[float], text: str) -> Spec:
    return {
        "xref": "paper",
        "yref": "paper",
        "x": domain[0],
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 4,
        "text": text,
        "showarrow": False,
        "font": {"size": 13},
    }


def _accuracy_words(accuracy: Sequence[tuple[int, float]]) -> str:
    if not accuracy:
        return "Ranking accuracy"
    return f"Ranking accuracy: {accuracy[-1][1]:.0%}"
