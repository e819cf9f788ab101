"""Bytes that a strategy sends from node to node in one step, counted and not measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.traffic import link_time_s, traffic_matrix
from autosync_widgets.figures.changes import Spec
from autosync_widgets.wording import bytes_text, seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_TEXTS = 8
"""With more nodes than this, numbers in the cells would overlap."""

CELL_PX = 46
FRAME_PX = 142
MOST_HEIGHT_PX = 620
_GAP = 0.24
"""Share of the width between two matrices: room for the second one's names."""
_ALONE = 0.62
"""Share of the width of a single matrix: wider cells would say no more."""


@dataclass(frozen=True)
class NodeLoad:
    """What one node's link carries in one step: bytes each way, and the seconds they need at least."""

    node: str
    sent_nbytes: float
    received_nbytes: float
    up_s: float
    down_s: float

    @property
    def busy_s(self) -> float:
        """Seconds of its busier way."""
        return max(self.up_s, self.down_s)


@dataclass(frozen=True)
class TrafficMatrix:
    """What the figure shows of one strategy.

    Parameters
    ----------
    label : str
        The strategy's name.
    nbytes : tuple of tuple of float
        Bytes from node i (row) to node j (column) in one step.
    loads : tuple of NodeLoad
        By node.
    link_time_s : float
        Seconds that the links need at least for one step.
    """

    label: str
    nbytes: tuple[tuple[float, ...], ...]
    loads: tuple[NodeLoad, ...]
    link_time_s: float

    @property
    def total_nbytes(self) -> float:
        """Bytes over all links in one step."""
        return sum(map(sum, self.nbytes))

    @property
    def busiest(self) -> NodeLoad:
        """The node whose link is busy longest."""
        return max(self.loads, key=lambda load: (load.busy_s, load.sent_nbytes + load.received_nbytes))


def traffic(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy, label: str) -> TrafficMatrix:
    """The figure of one strategy.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    strategy : Strategy
        Valid for both.
    label : str
    """
    matrix = traffic_matrix(model, cluster, strategy)
    sent, received = matrix.sum(axis=1).tolist(), matrix.sum(axis=0).tolist()
    loads = tuple(
        NodeLoad(n.name, out, into, out / n.up_bytes_per_s, into / n.down_bytes_per_s)
        for n, out, into in zip(cluster.nodes, sent, received, strict=True)
    )
    return TrafficMatrix(
        label,
        tuple(tuple(float(x) for x in row) for row in matrix.tolist()),
        loads,
        link_time_s(model, cluster, strategy),
    )


def traffic_sentence(data: TrafficMatrix) -> str:
    """What the matrix says, in one sentence."""
    if not data.total_nbytes:
        return f"{data.label}: nothing crosses a link."
    busiest = data.busiest
    way, nbytes = (
        ("sends", busiest.sent_nbytes) if busiest.up_s >= busiest.down_s else ("receives", busiest.received_nbytes)
    )
    text = f"{data.label}: {bytes_text(data.total_nbytes)} cross the links in a step"
    if not data.link_time_s:
        return f"{text}; no link is limited."
    return (
        f"{text}; the busiest is that of {busiest.node}, which {way} {bytes_text(nbytes)}. "
        f"At full speed the links need {seconds_text(data.link_time_s)}."
    )


def draw_traffic(matrices: Sequence[TrafficMatrix]) -> Spec:
    """Heatmaps side by side, one for each strategy, on one scale; cells without a transfer are empty."""
    most = max((max(map(max, m.nbytes)) for m in matrices), default=0.0)
    count = max((len(m.loads) for m in matrices), default=1)
    layout: Spec = {
        "height": min(MOST_HEIGHT_PX, FRAME_PX + CELL_PX * max(count, 2)),
        "margin": {"l": 8, "r": 8, "t": 56, "b": 24},
        "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
        "annotations": [],
    }
    width = (1 - _GAP * (len(matrices) - 1)) / len(matrices) if len(matrices) > 1 else _ALONE
    traces = []
    for index, matrix in enumerate(matrices):
        number = "" if index == 0 else str(index + 1)
        start = index * (width + _GAP)
        layout[f"xaxis{number}"] = _axis(matrix, "to", "received_nbytes", {"domain": [start, start + width]}, number)
        layout[f"yaxis{number}"] = _axis(matrix, "from", "sent_nbytes", {"autorange": "reversed"}, number)
        layout["annotations"].append(_title(matrix.label, start))
        end = start + width if index == len(matrices) - 1 else None
        traces.append(_heat(matrix, index, number, most, end))
    return {"data": traces, "layout": layout}


def traffic_figure(model: ModelSpec, cluster: ClusterSpec, strategies: dict[str, Strategy]) -> "go.Figure":
    """Traffic matrices of strategies by name, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    data = [traffic(model, cluster, strategy, label) for label, strategy in strategies.items()]
    figure = go.Figure(draw_traffic(data))
    return figure.update_layout(
        template="plotly_white", title={"text": f"{model.name} on {cluster.name}"}, margin={"t": 130}
    )


def _heat(matrix: TrafficMatrix, index: int, number: str, most: float, scale_at: float | None) -> Spec:
    names = [load.node for load in matrix.loads]
    few = len(names) <= MOST_TEXTS
    heat: Spec = {
        "type": "heatmap",
        "uid": f"traffic-{index}",
        "name": matrix.label,
        "x": list(range(len(names))),
        "y": list(range(len(names))),
        "z": [[x or None for x in row] for row in matrix.nbytes],
        "zmin": 0,
        "zmax": most or 1,
        "colorscale": "Cividis",
        "xgap": 2,
        "ygap": 2,
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "showscale": scale_at is not None and most > 0,
        "colorbar": {"x": (scale_at or 0) + 0.02, "tickformat": "~s", "ticksuffix": "B", "thickness": 14},
        "hoverongaps": False,
        "customdata": [
            [f"{matrix.label}<br>{a} to {b}: {bytes_text(x)}" for b, x in zip(names, row, strict=True)]
            for a, row in zip(names, matrix.nbytes, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    if few:
        heat |= {
            "text": [[bytes_text(x) if x else "" for x in row] for row in matrix.nbytes],
            "texttemplate": "%{text}",
        }
    return heat


def _axis(matrix: TrafficMatrix, way: str, field: str, more: Spec, number: str) -> Spec:
    few = len(matrix.loads) <= MOST_TEXTS
    texts = [f"{load.node}<br>{bytes_text(getattr(load, field))}" if few else load.node for load in matrix.loads]
    other = "x" if way == "from" else "y"
    return {
        "title": {"text": way, "font": {"size": 13}, "standoff": 10},
        "anchor": f"{other}{number}",
        "side": "left" if way == "from" else "bottom",
        "tickmode": "array",
        "tickvals": list(range(len(texts))),
        "ticktext": texts,
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        **more,
    }


def _title(label: str, start: float) -> Spec:
    return {
        "text": f"<b>{label}</b>: bytes from node to node",
        "xref": "paper",
        "yref": "paper",
        "x": start,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 8,
        "showarrow": False,
        "font": {"size": 14},
    }
