"""A cluster's nodes, what runs on them, and how wide their links are."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_widgets.colours import LIMIT, SERVER, SIZE
from autosync_widgets.figures.changes import Spec
from autosync_widgets.wording import gbps_text, plural, seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_NODES = 12
"""With more nodes than this, those that are alike are drawn as one."""

NARROWEST_PX, WIDEST_PX = 2.0, 14.0
HEIGHT_PX = 300

_SWITCH, _LINK_TOP, _LINK_END, _NODE, _NAME = 0.95, 0.91, 0.38, 0.3, 0.16


@dataclass(frozen=True)
class NodeColumn:
    """One node, or several that are alike.

    Parameters
    ----------
    names : tuple of str
    replicas : int
        Of each; 0 for a server without a replica.
    up_gbps, down_gbps : float
        Gbit/s each way; infinity where nothing limits.
    latency_s : float
        One way, seconds.
    chief : bool
    """

    names: tuple[str, ...]
    replicas: int
    up_gbps: float
    down_gbps: float
    latency_s: float
    chief: bool

    @property
    def slower_gbps(self) -> float:
        """The slower one of the link's two ways."""
        return min(self.up_gbps, self.down_gbps)


@dataclass(frozen=True)
class Topology:
    """What the figure shows: nodes from left to right, all on one switch."""

    title: str
    columns: tuple[NodeColumn, ...]


def topology(cluster: ClusterSpec) -> Topology:
    """The figure of a cluster."""
    columns = [_column(n) for n in cluster.nodes]
    if len(columns) > MOST_NODES:
        alike: dict[NodeColumn, list[str]] = {}
        for column in columns:
            alike.setdefault(replace(column, names=(), chief=False), []).extend(column.names)
        chiefs = {n.name for n in cluster.nodes if n.chief}
        columns = [replace(c, names=tuple(names), chief=bool(chiefs & set(names))) for c, names in alike.items()]
    return Topology(cluster.name, tuple(columns))


def _column(node: Node) -> NodeColumn:
    return NodeColumn((node.name,), node.replicas, node.up_gbps, node.down_gbps, node.latency_s, node.chief)


def draw_topology(data: Topology) -> Spec:
    """A switch on top, nodes below; links are the thicker, the more they carry."""
    count = len(data.columns)
    alone = count == 1 and len(data.columns[0].names) == 1
    shapes = [] if alone else [_switch(count), *(_link(i, c, data) for i, c in enumerate(data.columns))]
    notes = [_name(i, c) for i, c in enumerate(data.columns)]
    if alone:
        notes.append(_note(0, _LINK_TOP, "One node: no gradient crosses a link."))
    else:
        notes += [_speed(i, c) for i, c in enumerate(data.columns)]
        notes.append(_note((count - 1) / 2, _SWITCH, "switch: every node reaches every other"))
    return {
        "data": [
            {
                "type": "scatter",
                "uid": "nodes",
                "mode": "markers+text",
                "x": list(range(count)),
                "y": [_NODE] * count,
                "text": [str(c.replicas) if c.replicas else "" for c in data.columns],
                "textfont": {"color": "#ffffff", "size": 15},
                "marker": {
                    "symbol": ["circle" if c.replicas else "square" for c in data.columns],
                    "color": [SIZE if c.replicas else SERVER for c in data.columns],
                    "size": 36,
                    "opacity": 1,
                },
                "customdata": [_caption(c) for c in data.columns],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        ],
        "layout": {
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "showlegend": False,
            "modebar": {"remove": ["sendChartToCloud", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"]},
            "xaxis": {"visible": False, "fixedrange": True, "range": [-0.7, max(count, 2) - 0.3]},
            "yaxis": {"visible": False, "fixedrange": True, "range": [-0.05, 1.05]},
            "shapes": shapes,
            "annotations": notes,
        },
    }


def topology_figure(cluster: ClusterSpec) -> "go.Figure":
    """A cluster's topology, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    figure = go.Figure(draw_topology(topology(cluster)))
    return figure.update_layout(template="plotly_white", title={"text": cluster.name}, margin={"t": 50})


def _switch(count: int) -> Spec:
    return {
        "type": "rect",
        "x0": -0.45,
        "x1": count - 0.55,
        "y0": _LINK_TOP,
        "y1": 2 * _SWITCH - _LINK_TOP,
        "line": {"color": LIMIT, "width": 1},
        "fillcolor": LIMIT,
        "opacity": 0.25,
        "layer": "below",
    }


def _link(index: int, column: NodeColumn, data: Topology) -> Spec:
    limited = [c.slower_gbps for c in data.columns if math.isfinite(c.slower_gbps)]
    unlimited = math.isinf(column.slower_gbps)
    share = 1.0 if unlimited else column.slower_gbps / max(limited)
    return {
        "type": "line",
        "x0": index,
        "x1": index,
        "y0": _LINK_END,
        "y1": _LINK_TOP,
        "line": {
            "color": LIMIT,
            "width": round(NARROWEST_PX + (WIDEST_PX - NARROWEST_PX) * share, 1),
            "dash": "dot" if unlimited else "solid",
        },
        "layer": "below",
    }


def _speed(index: int, column: NodeColumn) -> Spec:
    if column.up_gbps == column.down_gbps:
        text = _breakable(gbps_text(column.up_gbps))
    else:
        text = f"↑ {gbps_text(column.up_gbps)}<br>↓ {gbps_text(column.down_gbps)}"
    if column.latency_s:
        text += f"<br>{seconds_text(column.latency_s)}"
    return _note(index, (_LINK_TOP + _LINK_END) / 2, text) | {"xanchor": "left", "xshift": 9, "align": "left"}


def _breakable(speed: str) -> str:
    return speed.replace(" ", "<br>", 1)


def _name(index: int, column: NodeColumn) -> Spec:
    name = column.names[0] if len(column.names) == 1 else f"{len(column.names)} nodes<br>{column.names[0]}, ..."
    role = plural(column.replicas, "replica") if column.replicas else "server only"
    chief = "<br>chief" if column.chief else ""
    return _note(index, _NAME, f"<b>{name}</b><br>{role}{chief}") | {"yanchor": "top"}


def _note(x: float, y: float, text: str) -> Spec:
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": 12}}


def _caption(column: NodeColumn) -> str:
    names = ", ".join(column.names[:6]) + (" ..." if len(column.names) > 6 else "")
    role = plural(column.replicas, "replica") if column.replicas else "a server without a replica"
    return (
        f"{names}<br>{role}<br>sends {gbps_text(column.up_gbps)}, receives {gbps_text(column.down_gbps)}"
        f"<br>latency {seconds_text(column.latency_s) if column.latency_s else 'none'}"
    )
