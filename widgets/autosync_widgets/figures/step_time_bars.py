"""Step time of each strategy as a bar, with its spread and the bandwidth bound."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.runtime.trial import Trial
from autosync_lab.study.summary import StrategySummary, distinct_names, summarize
from autosync_widgets.colours import LIMIT, MEANINGS, look_of
from autosync_widgets.figures.step_times import BoundLine
from autosync_widgets.wording import plural, seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

LOSSLESS_BOUND = "bandwidth bound"
LOSSY_BOUND = "bandwidth bound, lossy"

# Said without colour, too: dots mark what changes training results, stripes what decides by itself.
_LOSSY_PATTERN = "."
_PEER_PATTERN = "/"
_BAR_HEIGHT_PX = 34
_FRAME_HEIGHT_PX = 200


@dataclass(frozen=True)
class Bar:
    """One strategy.

    Parameters
    ----------
    label : str
    colour : str
        Hex; see `autosync_widgets.colours`.
    lossy, peer : bool
        Changes training results; decides by itself.
    seconds, low_s, high_s : float
        Median, 25th and 75th percentile of the step time; NaN if no step was timed.
    timed_steps : int
    note : str
        What the bar says besides its time: failures.
    """

    label: str
    colour: str
    lossy: bool
    peer: bool
    seconds: float
    low_s: float
    high_s: float
    timed_steps: int
    note: str = ""


@dataclass(frozen=True)
class StepTimeBars:
    """What the figure shows.

    Parameters
    ----------
    title : str
    bars : tuple of Bar
        Fastest first; strategies without a time come last.
    bounds : tuple of BoundLine
        Lowest first; empty where links limit nothing.
    """

    title: str
    bars: tuple[Bar, ...]
    bounds: tuple[BoundLine, ...]


def step_time_bars(trials: Iterable[Trial]) -> StepTimeBars:
    """Take trials of one model on one cluster together, strategy by strategy."""
    trials = list(trials)
    rows = summarize(trials)
    titles = dict.fromkeys(f"{t.model} on {t.cluster}" for t in trials)
    bars = [_bar(name, row) for name, row in zip(distinct_names(rows), rows, strict=True)]
    bounds = {
        BoundLine(LOSSY_BOUND if row.lossy else LOSSLESS_BOUND, row.bound_s)
        for row in rows
        if 0 < row.bound_s < math.inf
    }
    return StepTimeBars(
        title=", ".join(titles),
        bars=tuple(sorted(bars, key=lambda bar: (math.isnan(bar.seconds), bar.seconds))),
        bounds=tuple(sorted(bounds, key=lambda bound: (bound.seconds, bound.name))),
    )


def draw_step_time_bars(data: StepTimeBars) -> "go.Figure":
    """Horizontal bars: median, whiskers from the 25th to the 75th percentile, each bound as a vertical line."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for meaning, colour in MEANINGS.items():
        bars = [bar for bar in data.bars if bar.colour == colour]
        if not bars:
            continue
        figure.add_bar(
            orientation="h",
            name=meaning,
            y=[bar.label for bar in bars],
            x=[bar.seconds for bar in bars],
            marker={"color": colour, "pattern": {"shape": [_pattern(bar) for bar in bars], "fgcolor": "white"}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [bar.high_s - bar.seconds for bar in bars],
                "arrayminus": [bar.seconds - bar.low_s for bar in bars],
                "color": "black",
                "thickness": 1.5,
            },
            hovertext=[_caption(bar) for bar in bars],
            hovertemplate="%{y}: %{hovertext}<extra></extra>",
        )
    for bar in data.bars:
        end = 0.0 if math.isnan(bar.high_s) else bar.high_s
        figure.add_annotation(
            x=end, y=bar.label, text=_caption(bar), showarrow=False, xanchor="left", xshift=4, bgcolor="white"
        )
    for bound in data.bounds:
        line = {"color": LIMIT, "dash": "dot" if bound.name == LOSSY_BOUND else "solid", "width": 2}
        # White on both sides keeps the line apart from the bars that it crosses.
        figure.add_vline(x=bound.seconds, line={"color": "white", "width": 6})
        figure.add_vline(x=bound.seconds, line=line)
        figure.add_scatter(
            x=[None], y=[None], mode="lines", line=line, name=f"{bound.name}: {seconds_text(bound.seconds)}"
        )
    figure.update_layout(
        title=data.title,
        template="plotly_white",
        height=_FRAME_HEIGHT_PX + _BAR_HEIGHT_PX * len(data.bars),
        margin={"l": 10, "r": 20},
        barmode="overlay",
        legend={"orientation": "h", "y": -0.25},
        xaxis={"title": "step time (s): median, whiskers 25 to 75 percent of steps", "range": [0, _axis_end_s(data)]},
        yaxis={
            "automargin": True,
            "categoryorder": "array",
            "categoryarray": [bar.label for bar in reversed(data.bars)],
        },
    )
    return figure


def _bar(name: str, row: StrategySummary) -> Bar:
    return Bar(
        label=name,
        colour=look_of(row.label, row.strategy).colour,
        lossy=row.lossy,
        peer=row.is_peer,
        seconds=row.step_time_s,
        low_s=row.low_s,
        high_s=row.high_s,
        timed_steps=row.timed_steps,
        note=f"{row.failed} of {row.trials} failed ({row.failure.stage})" if row.failure else "",
    )


def _axis_end_s(data: StepTimeBars) -> float:
    """End of the axis, seconds: a third of the longest bar is left for what is written beside it."""
    ends = [bar.high_s for bar in data.bars if not math.isnan(bar.high_s)]
    return 4 / 3 * max([*ends, *(bound.seconds for bound in data.bounds)], default=1.0)


def _pattern(bar: Bar) -> str:
    return _LOSSY_PATTERN if bar.lossy else _PEER_PATTERN if bar.peer else ""


def _caption(bar: Bar) -> str:
    if math.isnan(bar.seconds):
        return bar.note or "no step was timed"
    marks = ["lossy"] * bar.lossy + ["peer"] * bar.peer + [bar.note] * bool(bar.note)
    return " · ".join([seconds_text(bar.seconds), plural(bar.timed_steps, "step"), *marks])
