"""What differs between two strategies, per variable and in bytes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.colours import LIMIT, Look, look_of
from autosync_widgets.figures.changes import Spec
from autosync_widgets.figures.variable_plans import VariablePlan, settings_text, variable_plans
from autosync_widgets.wording import bytes_text, plural

if TYPE_CHECKING:
    import plotly.graph_objects as go

ASPECTS = ("partition", "synchronizer", "destination", "group", "wire")
"""What may differ of a variable, besides its bytes."""

MOST_ROWS = 20
ROW_HEIGHT_PX = 24
FRAME_HEIGHT_PX = 110


@dataclass(frozen=True)
class VariableDiff:
    """One variable under two strategies."""

    first: VariablePlan
    second: VariablePlan

    @property
    def differs(self) -> tuple[str, ...]:
        """Which of `ASPECTS` differ."""
        return tuple(a for a in ASPECTS if getattr(self.first, a) != getattr(self.second, a))

    @property
    def more_nbytes(self) -> float:
        """Bytes over links that the second one takes more."""
        return self.second.link_nbytes - self.first.link_nbytes


@dataclass(frozen=True)
class StrategyDiff:
    """Two strategies by name and look, their graph-wide settings in words, and one row per variable."""

    labels: tuple[str, str]
    looks: tuple[Look, Look]
    settings: tuple[str, str]
    rows: tuple[VariableDiff, ...]

    @property
    def changed(self) -> tuple[VariableDiff, ...]:
        """Variables that differ."""
        return tuple(row for row in self.rows if row.differs)


def strategy_diff(
    model: ModelSpec, cluster: ClusterSpec, first: tuple[str, Strategy], second: tuple[str, Strategy]
) -> StrategyDiff:
    """The difference of two strategies, each with its name.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    first, second : tuple of (str, Strategy)
        Valid for both.
    """
    pairs = zip(variable_plans(model, cluster, first[1]), variable_plans(model, cluster, second[1]), strict=True)
    one, other = look_of(*first), look_of(*second)
    if one == other:
        other = Look(other.colour, "square" if other.symbol != "square" else "circle")
    return StrategyDiff(
        (first[0], second[0]),
        (one, other),
        (settings_text(first[1]), settings_text(second[1])),
        tuple(VariableDiff(a, b) for a, b in pairs),
    )


def diff_sentence(data: StrategyDiff) -> str:
    """The difference in one sentence."""
    first, second = data.labels
    changed = len(data.changed)
    if not changed and data.settings[0] == data.settings[1]:
        return f"{first} and {second} are the same strategy here."
    parts = []
    if changed:
        more = sum(row.more_nbytes for row in data.rows)
        amount = "as many bytes"
        if abs(more) >= 1:
            amount = f"{bytes_text(abs(more))} {'more' if more > 0 else 'less'}"
        parts.append(
            f"{changed} of {plural(len(data.rows), 'variable')} differ; {second} sends {amount} over links in a step"
        )
    if data.settings[0] != data.settings[1]:
        parts.append(f"{first} is {data.settings[0]}, {second} {data.settings[1]}")
    return "; ".join(parts) + "."


def draw_strategy_diff(data: StrategyDiff) -> Spec:
    """Bytes over links of the variables that differ most, one marker for each strategy."""
    most = sorted(data.changed, key=lambda row: -abs(row.more_nbytes))[:MOST_ROWS]
    count = len(most)
    traces: list[Spec] = [
        {
            "type": "scatter",
            "uid": "spans",
            "mode": "lines",
            "x": [x for row in most for x in (row.first.link_nbytes, row.second.link_nbytes, None)],
            "y": [y for i in range(count) for y in (-i, -i, None)],
            "line": {"color": LIMIT, "width": 2},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for side in (0, 1):
        plans = [(row.first, row.second)[side] for row in most]
        traces.append(
            {
                "type": "scatter",
                "uid": f"strategy-{side}",
                "name": data.labels[side],
                "mode": "markers",
                "x": [p.link_nbytes for p in plans],
                "y": [-i for i in range(count)],
                "marker": _marker(data.looks[side]),
                "customdata": [_caption(data.labels[side], p) for p in plans],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "height": FRAME_HEIGHT_PX + ROW_HEIGHT_PX * max(count, 1),
            "margin": {"l": 8, "r": 24, "t": 34, "b": 50},
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "hovermode": "closest",
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                "title": {"text": "bytes over links in a step, all nodes together", "font": {"size": 13}},
                "rangemode": "tozero",
                "tickformat": "~s",
                "ticksuffix": "B",
                "automargin": True,
            },
            "yaxis": {
                "tickmode": "array",
                "tickvals": [-i for i in range(count)],
                "ticktext": [row.first.variable for row in most],
                "range": [0.6 - max(count, 1), 0.6],
                "fixedrange": True,
                "automargin": True,
                "zeroline": False,
            },
        },
    }


def strategy_diff_figure(
    model: ModelSpec, cluster: ClusterSpec, first: tuple[str, Strategy], second: tuple[str, Strategy]
) -> "go.Figure":
    """What differs between two strategies in bytes, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    figure = go.Figure(draw_strategy_diff(strategy_diff(model, cluster, first, second)))
    return figure.update_layout(
        template="plotly_white", title={"text": f"{model.name} on {cluster.name}"}, margin={"t": 90}
    )


def _marker(look: Look) -> Spec:
    hollow = look.symbol.endswith("-open")
    return {"color": look.colour, "symbol": look.symbol, "size": 11, "line": {"width": 2 if hollow else 0}}


def _caption(label: str, plan: VariablePlan) -> str:
    return f"{label}: {plan.variable}<br>{plan.synchronizer}<br>{bytes_text(plan.link_nbytes)} over links"
