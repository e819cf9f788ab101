"""What changes add to a metric, each with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from autosync_lab.study.ablations import Comparison
from autosync_widgets.colours import LIMIT, SIZE
from autosync_widgets.figures.changes import Spec

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT_PX = 34
AXIS_HEIGHT_PX = 62
GAP_PX = 18
TOP_PX = 34
"""Room for the buttons that appear under the pointer."""
WIDEST_LABEL = 44

SYMBOLS = {"better": "triangle-up", "worse": "triangle-down"}
"""Of clear effects; all others are open circles. The shape says it, the colour repeats it."""


@dataclass(frozen=True)
class Effect:
    """What one change adds.

    Parameters
    ----------
    label : str
    samples : tuple of float
        What it adds in each pair or with each seed.
    mean, low, high : float
        Mean and its 95 % interval; NaN where there are too few samples.
    verdict : str
        As `Comparison.verdict`.
    caption : str
        All of it in a sentence, and what the paper reports.
    """

    label: str
    samples: tuple[float, ...]
    mean: float
    low: float
    high: float
    verdict: str
    caption: str


@dataclass(frozen=True)
class MetricEffects:
    """Effects on one metric, from top to bottom."""

    metric: str
    larger_is_better: bool
    effects: tuple[Effect, ...]


def ablation_effects(comparisons: Sequence[Comparison]) -> tuple[MetricEffects, ...]:
    """What the figure shows: comparisons by metric, in their order; those without samples are left out."""
    groups: dict[tuple[str, bool], list[Comparison]] = {}
    for c in comparisons:
        if c.with_it:
            groups.setdefault((c.metric, c.larger_is_better), []).append(c)
    return tuple(
        MetricEffects(metric, larger, tuple(_effect(c, len({x.where for x in own}) > 1) for c in own))
        for (metric, larger), own in groups.items()
    )


def _effect(c: Comparison, name_where: bool) -> Effect:
    mean, low, high = c.difference
    label = f"{c.change}{f', {c.where}' if name_where else ''}{' (simulated)' if c.simulated else ''}"
    added = tuple(b - a for a, b in zip(c.without, c.with_it, strict=True))
    return Effect(label, added, mean, low, high, c.verdict, f"{c.sentence}<br>The paper: {c.paper}.")


def draw_ablation_effects(data: Sequence[MetricEffects]) -> Spec:
    """A panel for each metric: dots for samples, a marker with whiskers for the mean, a line where nothing changes."""
    heights = [ROW_HEIGHT_PX * len(group.effects) + AXIS_HEIGHT_PX + GAP_PX for group in data]
    whole = float(sum(heights) or 1)
    spec: Spec = {
        "data": [],
        "layout": {
            "height": TOP_PX + int(whole),
            "margin": {"l": 8, "r": 24, "t": TOP_PX, "b": 8},
            "showlegend": False,
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
        },
    }
    above = 0.0
    for i, (group, height) in enumerate(zip(data, heights, strict=True)):
        number = "" if i == 0 else str(i + 1)
        bottom = 1.0 - (above + height - AXIS_HEIGHT_PX) / whole
        _draw_group(spec, group, number, (max(0.0, bottom), 1.0 - (above + GAP_PX) / whole))
        above += height
    return spec


def _draw_group(spec: Spec, group: MetricEffects, number: str, domain: tuple[float, float]) -> None:
    effects = group.effects
    axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    clear = [e.verdict in SYMBOLS for e in effects]
    spec["data"] += [
        {
            "type": "scatter",
            "uid": f"samples{number}",
            "mode": "markers",
            "x": [x for e in effects for x in e.samples],
            "y": [-row for row, e in enumerate(effects) for _ in e.samples],
            "marker": {"color": LIMIT, "size": 5, "opacity": 0.45},
            "hovertemplate": "%{x:+.3g}<extra>one sample</extra>",
        }
        | axes,
        {
            "type": "scatter",
            "uid": f"means{number}",
            "mode": "markers",
            "x": [e.mean for e in effects],
            "y": [-row for row in range(len(effects))],
            "marker": {
                "color": [SIZE if c else LIMIT for c in clear],
                "symbol": [SYMBOLS.get(e.verdict, "circle-open") for e in effects],
                "size": 12,
                "line": {"width": 2},
            },
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [_width(e.high - e.mean) for e in effects],
                "arrayminus": [_width(e.mean - e.low) for e in effects],
                "thickness": 2,
                "width": 5,
            },
            "customdata": ["<br>".join(wrap(e.caption, 80)) for e in effects],
            "hovertemplate": "%{customdata}<extra></extra>",
        }
        | axes,
    ]
    better = "more is better" if group.larger_is_better else "less is better"
    metric = "<br>".join(wrap(f"added to: {group.metric} ({better})", 78))
    spec["layout"] |= {
        f"xaxis{number}": {
            "anchor": f"y{number}",
            "title": {"text": metric, "font": {"size": 13}},
            "zeroline": True,
            "zerolinewidth": 2,
            "automargin": True,
        },
        f"yaxis{number}": {
            "anchor": f"x{number}",
            "domain": list(domain),
            "tickmode": "array",
            "tickvals": [-row for row in range(len(effects))],
            "ticktext": ["<br>".join(wrap(e.label, WIDEST_LABEL)) for e in effects],
            "range": [0.6 - len(effects), 0.6],
            "fixedrange": True,
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
    }


def ablation_figure(comparisons: Sequence[Comparison]) -> "go.Figure":
    """What changes add, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    return go.Figure(draw_ablation_effects(ablation_effects(comparisons))).update_layout(template="plotly_white")


def _width(value: float) -> float:
    """Length of a whisker; 0 where there is no interval."""
    return value if math.isfinite(value) else 0.0
