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

ROW_HEIGHT_PX = 36
AXIS_HEIGHT_PX = 56
TOP_PX = 30
"""Room for the buttons that appear under the pointer."""
WIDEST_NAME = 32
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
    size : SpaceSize
        log10 of what is left.
    pruned : float
        Powers of ten that this step took; NaN where it cannot be said.
    """

    name: str
    reason: str
    size: SpaceSize
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
    return Level(name, reason, size, 0.0 if before is None else before.value - size.value)


def size_text(size: SpaceSize) -> str:
    """A number of strategies in words: a power of ten."""
    if math.isnan(size.value):
        return f"below 10^{size.high:.1f}"
    if size.exact:
        return f"10^{size.value:.1f}"
    return f"about 10^{size.value:.1f} (10^{size.low:.1f} to 10^{size.high:.1f})"


def left_text(report: SpaceReport) -> str:
    """How many strategies are left, in a sentence."""
    return f"{size_text(report.size)} strategies are left of {size_text(report.valid)}."


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
    sizes = [x.size for x in data.levels]
    longest = max((x.high for x in sizes), default=1.0)
    return {
        "data": [
            {
                "type": "bar",
                "uid": "levels",
                "orientation": "h",
                "y": [-i for i in range(count)],
                "x": [None if math.isnan(x.value) else round(x.value, 6) for x in sizes],
                "width": 0.62,
                "marker": {
                    "color": SIZE,
                    "pattern": {
                        "shape": ["" if x.exact else "/" for x in sizes],
                        "fillmode": "replace",
                        "size": 7,
                    },
                },
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_width(x.high - x.value) for x in sizes],
                    "arrayminus": [_width(x.value - x.low) for x in sizes],
                    "thickness": 1.5,
                    "width": 4,
                    "visible": any(not x.exact for x in sizes),
                },
                "customdata": [f"<b>{x.name}</b><br>{size_text(x.size)} left<br>{pruned_text(x)}" for x in data.levels],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        ],
        "layout": {
            "height": TOP_PX + ROW_HEIGHT_PX * count + AXIS_HEIGHT_PX,
            "margin": {"l": 8, "r": 120, "t": TOP_PX, "b": AXIS_HEIGHT_PX},
            "showlegend": False,
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "log₁₀ of the number of strategies that are left", "font": {"size": 13}},
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
    size = level.size
    if math.isnan(size.value):
        text, end = f"below 10<sup>{size.high:.0f}</sup>", 0.0
    else:
        text, end = f"{'' if size.exact else '≈ '}10<sup>{size.value:.1f}</sup>", max(size.high, 0.0)
        if level.pruned >= 0.05:
            text += f"  (-{level.pruned:.1f})"
    return {"x": end, "y": -index, "text": text, "showarrow": False, "xanchor": "left", "xshift": 6}


def _broken(name: str) -> str:
    lines = [""]
    for part in name.split("-"):
        word = f"{part}-"
        if lines[-1] and len(lines[-1]) + len(word) > WIDEST_NAME:
            lines.append("")
        lines[-1] += word
    return "<br>".join(lines).removesuffix("-")
