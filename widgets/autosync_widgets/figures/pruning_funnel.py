"""How many strategies each constraint leaves."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.space.report import SpaceReport, SpaceSize
from autosync_lab.space.space import StrategySpace
from autosync_widgets.colours import SIZE
from autosync_widgets.figures.changes import Spec

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT_PX = 34
AXIS_HEIGHT_PX = 64
WIDEST_NAME = 26
"""Longer names are broken at a dash."""


@dataclass(frozen=True)
class Level:
    """What is left after one step.

    Parameters
    ----------
    name : str
        A constraint, "everything valid", or "your locks".
    reason : str
        Why it prunes, in one sentence.
    log10, low, high : float
        Decimal logarithm of the number of strategies, and its 95 percent interval; equal where it is exact. NaN if not
        one strategy was found, and then `high` is a bound.
    exact : bool
    pruned : float
        Powers of ten that this step took; NaN where it cannot be said.
    """

    name: str
    reason: str
    log10: float
    low: float
    high: float
    exact: bool
    pruned: float = 0.0


@dataclass(frozen=True)
class PruningFunnel:
    """What the figure shows: levels from top to bottom."""

    title: str
    levels: tuple[Level, ...]


def pruning_funnel(report: SpaceReport, title: str) -> PruningFunnel:
    """The figure of a space's report."""
    levels = [_level("everything valid", "All that runs, and trains right.", report.valid, None)]
    if report.locked != report.valid:
        levels.append(_level("your locks", "Choices that you made.", report.locked, report.valid))
    levels += [_level(step.constraint, step.reason, step.after, step.before) for step in report]
    return PruningFunnel(title, tuple(levels))


def _level(name: str, reason: str, size: SpaceSize, before: SpaceSize | None) -> Level:
    pruned = 0.0 if before is None else before.value - size.value
    return Level(name, reason, size.value, size.low, size.high, size.exact, pruned)


def size_text(level: Level) -> str:
    """The number of strategies in words: a power of ten."""
    if math.isnan(level.log10):
        return f"below 10^{level.high:.1f}: none was found"
    if level.exact:
        return f"10^{level.log10:.1f}"
    return f"about 10^{level.log10:.1f} (10^{level.low:.1f} to 10^{level.high:.1f})"


def pruned_text(level: Level) -> str:
    """What the step took, in words."""
    if math.isnan(level.pruned):
        return "pruned nearly all"
    if level.pruned < 0.05:
        return "pruned nothing"
    return f"pruned all but one in 10^{level.pruned:.1f}"


def draw_pruning_funnel(data: PruningFunnel) -> Spec:
    """Bars of log10; an estimate is striped and has its interval."""
    count = len(data.levels)
    longest = max((x.high for x in data.levels), default=1.0)
    return {
        "data": [
            {
                "type": "bar",
                "uid": "levels",
                "orientation": "h",
                "y": [-i for i in range(count)],
                "x": [None if math.isnan(x.log10) else round(x.log10, 6) for x in data.levels],
                "width": 0.62,
                "marker": {
                    "color": SIZE,
                    "pattern": {
                        "shape": ["" if x.exact else "/" for x in data.levels],
                        "fillmode": "replace",
                        "size": 7,
                    },
                },
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_width(x.high - x.log10) for x in data.levels],
                    "arrayminus": [_width(x.log10 - x.low) for x in data.levels],
                    "thickness": 1.5,
                    "width": 4,
                    "visible": any(not x.exact for x in data.levels),
                },
                "customdata": [f"<b>{x.name}</b><br>{size_text(x)} left<br>{pruned_text(x)}" for x in data.levels],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        ],
        "layout": {
            "height": ROW_HEIGHT_PX * count + AXIS_HEIGHT_PX,
            "margin": {"l": 8, "r": 120, "t": 8, "b": AXIS_HEIGHT_PX - 8},
            "showlegend": False,
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "log₁₀ of the number of strategies that are left"},
                "range": [0, longest * 1.02 if longest > 0 else 1.0],
                "automargin": True,
            },
            "yaxis": {
                "tickmode": "array",
                "tickvals": [-i for i in range(count)],
                "ticktext": [_broken(x.name) for x in data.levels],
                "range": [0.5 - count, 0.5],
                "fixedrange": True,
                "automargin": True,
                "showgrid": False,
                "zeroline": False,
            },
            "annotations": [_label(i, x) for i, x in enumerate(data.levels)],
        },
    }


def pruning_funnel_figure(space: StrategySpace) -> "go.Figure":
    """How a space is pruned, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    data = pruning_funnel(space.report(), f"{space.model.name} on {space.cluster.name}")
    figure = go.Figure(draw_pruning_funnel(data))
    return figure.update_layout(template="plotly_white", title={"text": data.title}, margin={"t": 50})


def _width(value: float) -> float:
    """Length of a whisker; 0 where an interval has no end."""
    return round(value, 6) if math.isfinite(value) else 0.0


def _label(index: int, level: Level) -> Spec:
    if math.isnan(level.log10):
        text, x = f"below 10<sup>{level.high:.0f}</sup>", 0.0
    else:
        text, x = f"{'' if level.exact else '≈ '}10<sup>{level.log10:.1f}</sup>", max(level.log10, 0.0)
        if level.pruned >= 0.05:
            text += f"  (-{level.pruned:.1f})"
    end = level.high if math.isfinite(level.high) and not level.exact else x
    return {"x": max(x, end), "y": -index, "text": text, "showarrow": False, "xanchor": "left", "xshift": 6}


def _broken(name: str) -> str:
    lines = [""]
    for part in name.split("-"):
        word = f"{part}-"
        if lines[-1] and len(lines[-1]) + len(word) > WIDEST_NAME:
            lines.append("")
        lines[-1] += word
    return "<br>".join(lines).removesuffix("-")
