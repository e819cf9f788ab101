"""Step times of a study's trials and the best so far, against every baseline and the bandwidth bound."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autosync_widgets.colours import LIMIT, OWN, Look
from autosync_widgets.figures.empty import empty_figure, figure_title
from autosync_widgets.figures.found_series import SVG_POINTS, FoundSeries, draw_series, found_series
from autosync_widgets.figures.log_ticks import log_axis, seconds_range
from autosync_widgets.search_points import SearchPoint
from autosync_widgets.wording import seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from autosync_widgets.study_state import StudyState

Spec = dict[str, Any]

HEIGHT_PX = 430
TITLE_HEIGHT_PX = 44
LEGEND_HEIGHT_PX = 96
LABELS_WIDTH_PX = 216
LABEL_HEIGHT_PX = 16
FEWEST_TRIALS = 10
"""The axis has room for this many trials at least, so that it does not jump at the beginning."""


@dataclass(frozen=True)
class Level:
    """A step time (seconds) to compare with: a baseline, or a bound (then `look` is None)."""

    name: str
    seconds: float
    look: Look | None


@dataclass(frozen=True)
class SearchProgressData:
    """What the figure shows.

    Parameters
    ----------
    title : str
    found : tuple of FoundSeries
        See `found_series`.
    baselines : tuple of SearchPoint
        The first measurement of each.
    again : tuple of SearchPoint
        Baselines and strategies found that were measured again.
    failed : tuple of SearchPoint
    best : tuple of (number, seconds)
        Where the best so far became better.
    levels : tuple of Level
        Slowest first.
    last : int
        Number of the newest trial.
    """

    title: str
    found: tuple[FoundSeries, ...]
    baselines: tuple[SearchPoint, ...]
    again: tuple[SearchPoint, ...]
    failed: tuple[SearchPoint, ...]
    best: tuple[tuple[int, float], ...]
    levels: tuple[Level, ...]
    last: int


def search_progress(state: "StudyState") -> SearchProgressData:
    """The figure of a study."""
    baselines: dict[str, SearchPoint] = {}
    found, again, failed, best = [], [], [], []
    bounds: dict[tuple[str, float], Level] = {}
    best_s = math.nan
    for point in state.points:
        if math.isnan(point.step_time_s):
            if point.status == "failed":
                failed.append(point)
            continue
        if point.role == "proposal":
            found.append(point)
        elif point.role == "baseline":
            baselines.setdefault(point.label, point)
        else:
            again.append(point)
        if point.best_s != best_s:
            best_s = point.best_s
            best.append((point.number, best_s))
        if 0 < point.bound_s < math.inf:
            name = "bandwidth bound, lossy" if point.lossy else "bandwidth bound"
            bounds.setdefault((name, point.bound_s), Level(name, point.bound_s, None))
    levels = [*(Level(p.label, p.step_time_s, p.look) for p in baselines.values()), *bounds.values()]
    return SearchProgressData(
        f"Progress of the search · {state.title}{' · simulated, nothing was measured' if state.simulated else ''}",
        found_series(found),
        tuple(baselines.values()),
        tuple(again),
        tuple(failed),
        tuple(best),
        tuple(sorted(levels, key=lambda level: (-level.seconds, level.name))),
        state.points[-1].number if state.points else 0,
    )


def draw_search_progress(data: SearchProgressData) -> Spec:
    """The plotly figure of `data` as plain data; colours of text and background are left to the page's theme."""
    if not data.last:
        return empty_figure("Step times will appear here, one point per trial: baselines first, then what is found.")
    low, high = seconds_range(
        [
            *(level.seconds for level in data.levels),
            *(p.step_time_s for series in data.found for p in series.points),
        ]
    )
    webgl = sum(len(s.points) for s in data.found) > SVG_POINTS
    return {
        "data": [
            *(draw_series(s, lambda p: p.number, lambda p: p.step_time_s, webgl) for s in data.found),
            _best(data),
            _baselines(data.baselines),
            _again(data.again),
            _failed(data.failed),
        ],
        "layout": {
            "title": figure_title(data.title),
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": LABELS_WIDTH_PX, "t": TITLE_HEIGHT_PX, "b": LEGEND_HEIGHT_PX},
            "legend": {"orientation": "h", "x": 0, "y": -0.17, "yanchor": "top"},
            "hovermode": "closest",
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "trial", "font": {"size": 13}},
                "range": [0, max(FEWEST_TRIALS, data.last) + 1],
                "zeroline": False,
                "automargin": True,
            },
            "yaxis": {"title": {"text": "step time", "font": {"size": 13}}} | log_axis(low, high),
            # Where there is no step time, a mark at the bottom says that a trial failed.
            "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
            "shapes": [_line(level) for level in data.levels],
            "annotations": _labels(data, low, high),
        },
    }


def search_progress_figure(state: "StudyState") -> "go.Figure":
    """Progress of a study as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    return go.Figure(draw_search_progress(search_progress(state))).update_layout(template="plotly_white")


def _best(data: SearchProgressData) -> Spec:
    steps = [*data.best, *((data.last, s) for _, s in data.best[-1:])]
    return {
        "type": "scatter",
        "uid": "best",
        "name": "best so far",
        "mode": "lines",
        "x": [number for number, _ in steps],
        "y": [seconds for _, seconds in steps],
        "line": {"shape": "hv", "color": OWN, "width": 3},
        "hovertemplate": "best so far: %{y:.3~s}s<extra></extra>",
    }


def _baselines(points: Sequence[SearchPoint]) -> Spec:
    return {
        "type": "scatter",
        "uid": "baselines",
        "name": "baselines",
        "mode": "markers",
        "showlegend": False,
        "x": [p.number for p in points],
        "y": [p.step_time_s for p in points],
        "customdata": [p.caption for p in points],
        "marker": {
            "color": [p.look.colour for p in points],
            "symbol": [p.look.symbol for p in points],
            "size": 11,
            "line": {"width": 2, "color": [p.look.colour for p in points]},
        },
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _again(points: Sequence[SearchPoint]) -> Spec:
    return {
        "type": "scatter",
        "uid": "again",
        "name": "measured again",
        "mode": "markers",
        "showlegend": bool(points),
        "x": [p.number for p in points],
        "y": [p.step_time_s for p in points],
        "customdata": [p.caption for p in points],
        "marker": {"symbol": "line-ew", "size": 8, "line": {"width": 2, "color": LIMIT}},
        "hovertemplate": "again: %{customdata}<extra></extra>",
    }


def _failed(points: Sequence[SearchPoint]) -> Spec:
    return {
        "type": "scatter",
        "uid": "failed",
        "name": "failed",
        "mode": "markers",
        "showlegend": bool(points),
        "yaxis": "y2",
        "x": [p.number for p in points],
        "y": [0.025 for _ in points],
        "customdata": [p.caption for p in points],
        "marker": {"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": LIMIT}},
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _line(level: Level) -> Spec:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": round(level.seconds, 6),
        "y1": round(level.seconds, 6),
        "line": {
            "color": level.look.colour if level.look else LIMIT,
            "width": 1 if level.look else 2,
            "dash": "dot" if level.look else "dash",
        },
        "layer": "below",
    }


def _labels(data: SearchProgressData, low: float, high: float) -> list[Spec]:
    labels = [
        *((level.name, level.seconds, level.look.colour if level.look else LIMIT) for level in data.levels),
        *(("best so far", seconds, OWN) for _, seconds in data.best[-1:]),
    ]
    labels.sort(key=lambda label: -label[1])
    plot_px = HEIGHT_PX - TITLE_HEIGHT_PX - LEGEND_HEIGHT_PX
    per_px = math.log(high / low) / plot_px
    wanted = [math.log(high / seconds) / per_px for _, seconds, _ in labels]
    return [
        {
            "xref": "paper",
            "x": 1,
            # Annotations of a logarithmic axis are placed by the logarithm.
            "y": round(math.log10(seconds), 4),
            "text": f"<b>{name} {seconds_text(seconds)}</b>" if colour == OWN else f"{name} {seconds_text(seconds)}",
            "font": {"size": 12},
            "xanchor": "left",
            "ax": 22,
            "ay": round(place - want, 1),
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": colour,
        }
        for (name, seconds, colour), want, place in zip(labels, wanted, spread(wanted, plot_px), strict=True)
    ]


def spread(wanted: Sequence[float], size: float, gap: float = LABEL_HEIGHT_PX) -> list[float]:
    """Places for labels near where they are wanted, none nearer to the next than `gap`.

    Parameters
    ----------
    wanted : sequence of float
        Pixels from the top, in order.
    size : float
        Pixels from the top to the bottom, which the last label keeps to if there is room.
    gap : float
        Pixels.
    """
    places: list[float] = []
    for want in wanted:
        places.append(want if not places else max(want, places[-1] + gap))
    below = size
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], below)
        below = places[i] - gap
    return places
