"""One training step as bars in time: what each worker computes and sends, predicted above measured."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autosync_lab.runtime.trial import Event
from autosync_widgets.colours import ALL_REDUCE, SERVER
from autosync_widgets.figures.empty import empty_figure, figure_title
from autosync_widgets.wording import plural, seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

Spec = dict[str, Any]

WORK = {
    "compute": "#6B7280",
    "push": SERVER,
    "pull": "#2F97C9",
    "all-reduce": ALL_REDUCE,
    "apply": "#8A6D00",
}
"""Kinds of work, each with its colour, in the order in which their lanes lie below each other."""

MEANINGS = {
    "compute": "compute: forward and backward pass",
    "push": "push: a gradient to its server",
    "pull": "pull: a parameter from its server",
    "all-reduce": "all-reduce: a group's sum over all replicas",
    "apply": "apply: a server updates what it owns",
}

MOST_WORKERS = 8
"""More are left to a choice: their lanes would be thinner than one can see."""
MOST_BARS = 1200
"""Above this many, bars of a lane that touch are drawn as one."""

LANE_HEIGHT_PX = 15
WORKER_GAP = 0.6
"""Empty room between two workers, in lanes."""
TITLE_HEIGHT_PX = 44
HEADING_HEIGHT_PX = 26
FOOT_HEIGHT_PX = 92


@dataclass(frozen=True)
class Bar:
    """Some work of one lane: seconds since the step's start, and its place among works at the same time.

    Parameters
    ----------
    name : str
    start_s, end_s : float
    row, rows : int
        Works that overlap lie in different ones of the lane's rows.
    """

    name: str
    start_s: float
    end_s: float
    row: int
    rows: int


@dataclass(frozen=True)
class Lane:
    """One kind of work of one worker."""

    worker: str
    work: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class StepLanes:
    """One step: what it is (predicted, measured, simulated), its step time, and its lanes from top to bottom."""

    origin: str
    step_time_s: float
    lanes: tuple[Lane, ...]
    hidden: int = 0


@dataclass(frozen=True)
class TimelineData:
    """What the figure shows: steps from top to bottom, on one axis of time."""

    title: str
    steps: tuple[StepLanes, ...]


def step_lanes(
    origin: str, events: Iterable[Event], step_time_s: float, workers: Sequence[str] | None = None
) -> StepLanes:
    """Lanes of one step's events.

    Parameters
    ----------
    origin : str
        Where the events come from: "predicted (simulated)", "measured".
    events : iterable of Event
    step_time_s : float
        Seconds; NaN if unknown.
    workers : sequence of str, optional
        Those to show, which are all at first, up to `MOST_WORKERS`.
    """
    of: dict[str, dict[str, list[Event]]] = {}
    for event in events:
        of.setdefault(event.worker, {}).setdefault(event.lane, []).append(event)
    names = sorted(of, key=_natural)
    shown = [n for n in names if n in workers] if workers is not None else names[:MOST_WORKERS]
    many = sum(len(e) for n in shown for e in of[n].values()) > MOST_BARS
    lanes = tuple(
        Lane(name, work, _packed(_joined(of[name][work]) if many else of[name][work]))
        for name in shown
        for work in (*WORK, *sorted(set(of[name]) - set(WORK)))
        if work in of[name]
    )
    return StepLanes(origin, step_time_s, lanes, len(names) - len(shown))


def workers_of(events: Iterable[Event]) -> list[str]:
    """The workers of some events, in the order in which their lanes lie below each other."""
    return sorted({e.worker for e in events}, key=_natural)


def _natural(name: str) -> tuple[Any, ...]:
    """Orders replica 2 before replica 10."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in name.split())


def _packed(events: Sequence[Event]) -> tuple[Bar, ...]:
    """Bars of events, each in the first row that is free when it starts."""
    ends: list[float] = []
    placed = []
    for event in sorted(events, key=lambda e: (e.start_s, e.end_s, e.name)):
        row = next((i for i, end in enumerate(ends) if end <= event.start_s), len(ends))
        ends[row : row + 1] = [event.end_s]
        placed.append((event, row))
    return tuple(Bar(e.name, e.start_s, e.end_s, row, len(ends)) for e, row in placed)


def _joined(events: Sequence[Event]) -> list[Event]:
    """Times in which a lane is busy, whatever with."""
    busy: list[tuple[float, float, int]] = []
    for event in sorted(events, key=lambda e: e.start_s):
        if busy and event.start_s <= busy[-1][1]:
            start_s, end_s, count = busy[-1]
            busy[-1] = (start_s, max(end_s, event.end_s), count + 1)
        else:
            busy.append((event.start_s, event.end_s, 1))
    first = events[0]
    return [Event(first.worker, first.lane, plural(n, "transfer"), start_s, end_s) for start_s, end_s, n in busy]


def draw_timeline(data: TimelineData) -> Spec:
    """The plotly figure of `data` as plain data; colours of text and background are left to the page's theme."""
    if not any(step.lanes for step in data.steps):
        return empty_figure("The timeline of a step will appear here.")
    bars: dict[str, list[tuple[Bar, Lane, str, float, float]]] = {}
    ticks: list[tuple[float, str]] = []
    headings: list[tuple[float, str]] = []
    top = 0.0
    heading_lanes = HEADING_HEIGHT_PX / LANE_HEIGHT_PX
    for step in data.steps:
        headings.append((-top - heading_lanes / 2, _heading(step)))
        top += heading_lanes
        worker, begin = "", top
        for lane in step.lanes:
            if lane.worker != worker:
                if worker:
                    ticks.append((-(begin + top) / 2, worker))
                    top += WORKER_GAP
                worker, begin = lane.worker, top
            for bar in lane.bars:
                height = 1 / bar.rows
                middle = -(top + (bar.row + 0.5) * height)
                bars.setdefault(lane.work, []).append((bar, lane, step.origin, middle, height * 0.86))
            top += 1
        if worker:
            ticks.append((-(begin + top) / 2, worker))
        top += WORKER_GAP
    end_s = max(
        [b.end_s for s in data.steps for lane in s.lanes for b in lane.bars]
        + [s.step_time_s for s in data.steps if math.isfinite(s.step_time_s)]
    )
    return {
        "data": [_bars(work, bars[work]) for work in (*WORK, *sorted(set(bars) - set(WORK))) if work in bars],
        "layout": {
            "title": figure_title(data.title),
            "height": round(TITLE_HEIGHT_PX + top * LANE_HEIGHT_PX + FOOT_HEIGHT_PX),
            "margin": {"l": 8, "r": 24, "t": TITLE_HEIGHT_PX, "b": FOOT_HEIGHT_PX},
            "barmode": "overlay",
            "bargap": 0,
            "legend": {
                "orientation": "h",
                "x": 0,
                "yref": "container",
                "y": 0,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
            "hovermode": "closest",
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "since the step's start", "font": {"size": 13}, "standoff": 6},
                "range": [0, end_s * 1.02],
                "tickformat": "~s",
                "ticksuffix": "s",
                "zeroline": False,
            },
            "yaxis": {
                "range": [-top, 0],
                "tickmode": "array",
                "tickvals": [round(y, 3) for y, _ in ticks],
                "ticktext": [worker for _, worker in ticks],
                "showgrid": False,
                "zeroline": False,
                "automargin": True,
                "fixedrange": True,
            },
            "annotations": [
                {
                    "xref": "paper",
                    "x": 0,
                    "xanchor": "left",
                    "y": round(y, 3),
                    "text": text,
                    "showarrow": False,
                    "font": {"size": 13},
                }
                for y, text in headings
            ],
        },
    }


def timeline_figure(data: TimelineData) -> "go.Figure":
    """A timeline as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    return go.Figure(draw_timeline(data)).update_layout(template="plotly_white")


def _heading(step: StepLanes) -> str:
    time = "" if math.isnan(step.step_time_s) else f": a step takes {seconds_text(step.step_time_s)}"
    more = f" ({plural(step.hidden, 'worker')} more not shown)" if step.hidden else ""
    return f"<b>{step.origin}</b>{time}{more}"


def _bars(work: str, bars: Sequence[tuple[Bar, Lane, str, float, float]]) -> Spec:
    return {
        "type": "bar",
        "uid": work,
        "name": MEANINGS.get(work, work),
        "orientation": "h",
        "base": [round(bar.start_s, 6) for bar, *_ in bars],
        "x": [round(bar.end_s - bar.start_s, 6) for bar, *_ in bars],
        "y": [round(middle, 4) for *_, middle, _ in bars],
        "width": [round(height, 4) for *_, height in bars],
        "customdata": [
            f"{work}: {bar.name}<br>{lane.worker}, {origin}<br>{seconds_text(bar.start_s)} to "
            f"{seconds_text(bar.end_s)}: {seconds_text(bar.end_s - bar.start_s)}"
            for bar, lane, origin, *_ in bars
        ],
        "marker": {"color": WORK.get(work, "#6B7280"), "line": {"width": 0}},
        "hovertemplate": "%{customdata}<extra></extra>",
    }
