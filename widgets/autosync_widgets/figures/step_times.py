"""Every timed step of each strategy as a point, its median as a line, and the bandwidth bound."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autosync_lab.runtime.trial import Trial
from autosync_widgets.colours import LIMIT, Look, look_of
from autosync_widgets.explorer_state import TrialState
from autosync_widgets.figures.empty import empty_figure
from autosync_widgets.wording import seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

Spec = dict[str, Any]
"""A plotly figure as plain data: `data` (traces) and `layout`."""

ROW_HEIGHT_PX = 40
TITLE_HEIGHT_PX = 44
BOUND_LABEL_HEIGHT_PX = 17
AXIS_HEIGHT_PX = 56
NOTES_WIDTH_PX = 116
EMPTY_HEIGHT_PX = 220
SVG_POINTS = 3000
"""Above this many points, WebGL draws faster than SVG; below, SVG looks better and needs no WebGL context."""

_SPREAD = 0.27
"""Points lie within this distance (in rows) of their row's middle."""
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class StrategyRow:
    """One strategy.

    Parameters
    ----------
    label : str
    look : Look
    lossy : bool
        True if training results change.
    times_s : tuple of float
        Timed steps in the order they were made, seconds.
    note : str
        What the row says besides its points: failed, queued, running.
    """

    label: str
    look: Look
    lossy: bool
    times_s: tuple[float, ...]
    note: str = ""

    @property
    def quartiles_s(self) -> tuple[float, float, float]:
        """25th, 50th and 75th percentile, seconds; NaN without a step."""
        if not self.times_s:
            return math.nan, math.nan, math.nan
        low, middle, high = np.percentile(self.times_s, [25, 50, 75])
        return float(low), float(middle), float(high)


@dataclass(frozen=True)
class BoundLine:
    """A step time (seconds) that no strategy of the same semantics can be below."""

    name: str
    seconds: float


@dataclass(frozen=True)
class StepTimes:
    """What the figure shows: rows from top to bottom, and bounds."""

    title: str
    rows: tuple[StrategyRow, ...]
    bounds: tuple[BoundLine, ...]


@dataclass(frozen=True)
class _Observation:
    label: str
    strategy_id: str | None
    look: Look
    lossy: bool
    times_s: tuple[float, ...]
    bound_s: float
    note: str
    title: str


def step_times(trials: Iterable[Trial]) -> StepTimes:
    """The figure of recorded trials of one model on one cluster."""
    return _together(_of_trial(t) for t in trials)


def step_times_live(trials: Iterable[TrialState]) -> StepTimes:
    """The figure of trials that are queued, running or ended."""
    return _together(_of_state(t) for t in trials)


def _of_trial(trial: Trial) -> _Observation:
    lossy = trial.strategy is not None and not trial.strategy.lossless
    return _Observation(
        trial.label,
        trial.strategy_id,
        look_of(trial.label, trial.strategy),
        lossy,
        tuple(max(row) for row in trial.step_times_s) if trial.status == "ok" else (),
        trial.bound_s,
        f"failed ({trial.stage})" if trial.status == "failed" else "",
        f"{trial.model} on {trial.cluster}",
    )


def _of_state(trial: TrialState) -> _Observation:
    request = trial.request
    note = {"ok": "", "failed": f"failed ({trial.stage})" if trial.stage else "failed"}.get(trial.phase, trial.phase)
    return _Observation(
        request.label,
        request.strategy.id,
        look_of(request.label, request.strategy),
        not request.strategy.lossless,
        trial.step_times_s,
        request.bound_s,
        note,
        f"{request.model.name} on {request.cluster.name}",
    )


def _together(observations: Iterable[_Observation]) -> StepTimes:
    groups: dict[tuple[str, str | None], list[_Observation]] = {}
    for one in observations:
        groups.setdefault((one.label, one.strategy_id), []).append(one)
    labels = [label for label, _ in groups]
    rows = []
    bounds: dict[BoundLine, None] = {}
    titles: dict[str, None] = {}
    for (label, strategy_id), members in groups.items():
        last = members[-1]
        name = f"{label} {strategy_id}" if labels.count(label) > 1 and strategy_id else label
        times = tuple(t for one in members for t in one.times_s)
        rows.append(StrategyRow(name, last.look, last.lossy, times, last.note))
        titles |= {one.title: None for one in members}
        if 0 < last.bound_s < math.inf:
            bound = "bandwidth bound, lossy" if last.lossy else "bandwidth bound"
            bounds[BoundLine(bound, last.bound_s)] = None
    return StepTimes(", ".join(titles), tuple(rows), tuple(sorted(bounds, key=lambda b: (b.seconds, b.name))))


def draw_step_times(data: StepTimes) -> Spec:
    """The plotly figure of `data` as plain data; colours of text and background are left to the page's theme."""
    if not data.rows:
        return empty_figure("Step times will appear here, one point per timed step.", EMPTY_HEIGHT_PX)
    kind = "scattergl" if sum(len(row.times_s) for row in data.rows) > SVG_POINTS else "scatter"
    traces = [_points(kind, index, row) for index, row in enumerate(data.rows)]
    traces.append(_medians(data.rows))
    count = len(data.rows)
    top = TITLE_HEIGHT_PX + BOUND_LABEL_HEIGHT_PX * len(data.bounds)
    return {
        "data": traces,
        "layout": {
            "title": {
                "text": data.title,
                "font": {"size": 15},
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": 1,
                "yanchor": "top",
                "pad": {"t": 12},
            },
            "height": top + ROW_HEIGHT_PX * count + AXIS_HEIGHT_PX,
            "margin": {
                "l": 8,
                "r": NOTES_WIDTH_PX if any(r.note for r in data.rows) else 24,
                "t": top,
                "b": AXIS_HEIGHT_PX,
            },
            "showlegend": False,
            "hovermode": "closest",
            # A figure of one's own cluster is not sent to anybody's cloud by a slip of the hand.
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "step time", "font": {"size": 13}},
                "rangemode": "tozero",
                "tickformat": "~s",
                "ticksuffix": "s",
                "zeroline": True,
                "automargin": True,
            },
            "yaxis": {
                "tickmode": "array",
                "tickvals": [-i for i in range(count)],
                "ticktext": [f"{r.label} (lossy)" if r.lossy else r.label for r in data.rows],
                "range": [0.5 - count, 0.5],
                "fixedrange": True,
                "automargin": True,
                "zeroline": False,
                "showgrid": False,
            },
            "shapes": [_stripe(i) for i in range(0, count, 2)] + [_bound_line(b) for b in data.bounds],
            "annotations": _bound_labels(data.bounds) + _notes(data.rows),
        },
    }


def step_time_figure(trials: Iterable[Trial]) -> "go.Figure":
    """Step times of recorded trials as a plotly figure that stands alone.

    Parameters
    ----------
    trials : iterable of Trial
        Of one model on one cluster.
    """
    import plotly.graph_objects as go

    figure = go.Figure(draw_step_times(step_times(trials)))
    return figure.update_layout(template="plotly_white")


def _points(kind: str, index: int, row: StrategyRow) -> Spec:
    return {
        "type": kind,
        "uid": f"points-{index}",
        "name": row.label,
        "mode": "markers",
        "x": list(row.times_s),
        "y": [_height(index, step) for step in range(len(row.times_s))],
        "marker": {
            "color": row.look.colour,
            "symbol": row.look.symbol,
            "size": 8,
            "opacity": 0.8,
            "line": {"width": 2 if row.lossy else 0},
        },
        "hovertemplate": f"{row.label}<br>%{{x:.3~s}}s<extra></extra>",
    }


def _height(index: int, step: int) -> float:
    # Multiples of the golden ratio modulo 1 fill an interval evenly at every length, so points that are close in time
    # lie apart, and a point never moves when more arrive.
    return round(((step * _GOLDEN_RATIO + 0.5) % 1.0 * 2 - 1) * _SPREAD - index, 4)


def _medians(rows: Sequence[StrategyRow]) -> Spec:
    timed = [(index, row, *row.quartiles_s) for index, row in enumerate(rows) if row.times_s]
    return {
        "type": "scatter",
        "uid": "medians",
        "name": "median",
        "mode": "markers",
        "x": [middle for _, _, _, middle, _ in timed],
        "y": [-index for index, *_ in timed],
        "marker": {
            "symbol": "line-ns",
            "size": ROW_HEIGHT_PX * 0.72,
            "line": {"width": 3, "color": [row.look.colour for _, row, *_ in timed]},
        },
        "customdata": [
            f"{row.label}<br>median {seconds_text(middle)}"
            f"<br>half of the steps: {seconds_text(low)} to {seconds_text(high)}"
            f"<br>{len(row.times_s)} timed steps"
            for _, row, low, middle, high in timed
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _stripe(index: int) -> Spec:
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": -index - 0.5,
        "y1": -index + 0.5,
        "fillcolor": LIMIT,
        "opacity": 0.08,
        "line": {"width": 0},
        "layer": "below",
    }


def _bound_line(bound: BoundLine) -> Spec:
    return {
        "type": "line",
        "yref": "paper",
        "x0": bound.seconds,
        "x1": bound.seconds,
        "y0": 0,
        "y1": 1,
        "line": {"color": LIMIT, "width": 2, "dash": "dash"},
    }


def _bound_labels(bounds: Sequence[BoundLine]) -> list[Spec]:
    return [
        {
            "x": bound.seconds,
            "yref": "paper",
            "y": 1,
            "yanchor": "bottom",
            "yshift": 1 + BOUND_LABEL_HEIGHT_PX * level,
            "xanchor": "left",
            "xshift": -6,
            "showarrow": False,
            "text": f"↓ {bound.name}: {seconds_text(bound.seconds)}",
            "font": {"size": 12},
        }
        # The leftmost label is the highest, so that no label covers the line of the next one.
        for level, bound in enumerate(reversed(bounds))
    ]


def _notes(rows: Sequence[StrategyRow]) -> list[Spec]:
    return [
        {
            "xref": "paper",
            "x": 1,
            "xanchor": "left",
            "xshift": 6,
            "y": -index,
            "showarrow": False,
            "text": f"✕ {row.note}" if row.note.startswith("failed") else row.note,
            "font": {"size": 12},
        }
        for index, row in enumerate(rows)
        if row.note
    ]
