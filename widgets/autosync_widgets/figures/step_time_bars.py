"""Step time of each strategy as a bar, with its spread and the bandwidth bound."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autosync_lab.runtime.trial import Trial
from autosync_lab.study.summary import StrategySummary, distinct_names, summarize

if TYPE_CHECKING:
    import plotly.graph_objects as go

Kind = Literal["lossless", "lossy", "peer"]

# Okabe and Ito's palette (2008), which stays apart in every common form of colour blindness; the pattern says the same
# without colour.
_LOOK: dict[Kind, tuple[str, str, str]] = {
    "lossless": ("lossless strategy", "#0072B2", ""),
    "lossy": ("lossy strategy (changes training results)", "#E69F00", "."),
    "peer": ("peer (decides by itself)", "#009E73", "/"),
}
_BOUND_COLOUR = "#D55E00"
_BAR_HEIGHT_PX = 34


@dataclass(frozen=True)
class Bar:
    """One strategy: median, 25th and 75th percentile of its step time in seconds (NaN if no step was timed)."""

    label: str
    kind: Kind
    seconds: float
    low_s: float
    high_s: float
    timed_steps: int
    note: str = ""


@dataclass(frozen=True)
class Bound:
    """A step time in seconds that no strategy of the same semantics can be below."""

    name: str
    seconds: float


@dataclass(frozen=True)
class StepTimeBars:
    """What the figure shows.

    Parameters
    ----------
    title : str
    bars : tuple of Bar
        Fastest first; strategies without a time come last.
    bounds : tuple of Bound
        Lowest first; empty where links limit nothing.
    """

    title: str
    bars: tuple[Bar, ...]
    bounds: tuple[Bound, ...]


def step_time_bars(trials: Iterable[Trial]) -> StepTimeBars:
    """Take trials of one model on one cluster together, strategy by strategy."""
    trials = list(trials)
    rows = summarize(trials)
    models = sorted({f"{t.model} on {t.cluster}" for t in trials})
    bars = [_bar(name, row) for name, row in zip(distinct_names(rows), rows, strict=True)]
    bounds = {
        Bound("bandwidth bound, lossy" if row.lossy else "bandwidth bound", row.bound_s)
        for row in rows
        if 0 < row.bound_s < math.inf
    }
    return StepTimeBars(
        title=", ".join(models),
        bars=tuple(sorted(bars, key=lambda bar: (math.isnan(bar.seconds), bar.seconds))),
        bounds=tuple(sorted(bounds, key=lambda bound: (bound.seconds, bound.name))),
    )


def draw_step_time_bars(data: StepTimeBars) -> "go.Figure":
    """Horizontal bars: median, whiskers from the 25th to the 75th percentile, each bound as a vertical line."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for kind, (name, colour, pattern) in _LOOK.items():
        bars = [bar for bar in data.bars if bar.kind == kind]
        if not bars:
            continue
        figure.add_bar(
            orientation="h",
            name=name,
            y=[bar.label for bar in bars],
            x=[bar.seconds for bar in bars],
            marker={"color": colour, "pattern": {"shape": pattern, "fgcolor": "white"}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [bar.high_s - bar.seconds for bar in bars],
                "arrayminus": [bar.seconds - bar.low_s for bar in bars],
                "color": "black",
                "thickness": 1.5,
            },
            text=[_caption(bar) for bar in bars],
            textposition="inside",
            insidetextanchor="start",
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
    for bar in data.bars:
        if math.isnan(bar.seconds):
            figure.add_annotation(
                x=0, xref="paper", y=bar.label, text=_caption(bar), showarrow=False, xanchor="left", xshift=4
            )
    for bound in data.bounds:
        figure.add_vline(x=bound.seconds, line={"color": _BOUND_COLOUR, "dash": "dash", "width": 2})
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            line={"color": _BOUND_COLOUR, "dash": "dash", "width": 2},
            name=f"{bound.name}: {_seconds(bound.seconds)}",
        )
    figure.update_layout(
        title=data.title,
        template="plotly_white",
        height=180 + _BAR_HEIGHT_PX * len(data.bars),
        margin={"l": 10, "r": 20},
        barmode="overlay",
        legend={"orientation": "h", "y": -0.25},
        xaxis={"title": "step time (s): median, whiskers 25 to 75 percent of steps", "rangemode": "tozero"},
        yaxis={
            "automargin": True,
            "categoryorder": "array",
            "categoryarray": [bar.label for bar in reversed(data.bars)],
        },
    )
    return figure


def _bar(name: str, row: StrategySummary) -> Bar:
    note = f"{row.failed} of {row.trials} failed ({row.failure.stage})" if row.failure else ""
    return Bar(
        label=name,
        kind="peer" if row.is_peer else "lossy" if row.lossy else "lossless",
        seconds=row.step_time_s,
        low_s=row.low_s,
        high_s=row.high_s,
        timed_steps=row.timed_steps,
        note=note,
    )


def _caption(bar: Bar) -> str:
    if math.isnan(bar.seconds):
        return bar.note or "no step was timed"
    return f"{_seconds(bar.seconds)} · {bar.timed_steps} steps" + (f" · {bar.note}" if bar.note else "")


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{seconds * 1e3:.3g} ms"
