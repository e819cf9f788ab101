"""A model's variables by size, in forward order."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.model.spec import ModelSpec
from autosync_widgets.colours import SIZE
from autosync_widgets.figures.changes import Spec
from autosync_widgets.wording import bytes_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT_PX = 300
MOST_NAMES = 26
"""With more variables than this their names overlap, and are left to the pointer."""

_TRAVELS = "travels in a step"
_RESTS = "rest of a sparse table"


@dataclass(frozen=True)
class SizeBar:
    """One variable.

    Parameters
    ----------
    name : str
    shape : tuple of int
    nbytes : int
        Bytes of the whole variable.
    gradient_nbytes : float
        Bytes of one replica's gradient: of a sparse variable only touched rows.
    sparse : bool
    """

    name: str
    shape: tuple[int, ...]
    nbytes: int
    gradient_nbytes: float
    sparse: bool


@dataclass(frozen=True)
class ModelSizes:
    """What the figure shows: variables from left to right, in forward order."""

    title: str
    bars: tuple[SizeBar, ...]


def model_sizes(model: ModelSpec) -> ModelSizes:
    """The figure of a model."""
    bars = tuple(SizeBar(v.name, v.shape, v.nbytes, v.gradient_nbytes, v.sparse) for v in model.variables)
    return ModelSizes(model.name, bars)


def draw_model_sizes(data: ModelSizes, log: bool = False) -> Spec:
    """Bars of bytes; a sparse variable's table is striped, and solid as far as a step touches it.

    Parameters
    ----------
    data : ModelSizes
    log : bool
        Logarithmic bytes, so that small variables can be seen beside large ones.
    """
    numbered = list(enumerate(data.bars))
    dense = [(i, b) for i, b in numbered if not b.sparse]
    sparse = [(i, b) for i, b in numbered if b.sparse]
    stripes = {"color": SIZE, "pattern": {"shape": "/", "fillmode": "replace", "size": 7}}
    traces = [
        _bars("dense", _TRAVELS, dense, [b.nbytes for _, b in dense], {"color": SIZE}),
        _bars("table", _RESTS, sparse, [b.nbytes for _, b in sparse], stripes | {"line": {"color": SIZE, "width": 1}}),
        _bars("touched", _TRAVELS, sparse, [b.gradient_nbytes for _, b in sparse], {"color": SIZE}),
    ]
    few = len(data.bars) <= MOST_NAMES
    names = {
        "tickmode": "array",
        "tickvals": [i for i, _ in numbered] if few else [],
        "ticktext": [b.name for b in data.bars] if few else [],
    }
    return {
        "data": [t for t in traces if t["x"]],
        "layout": {
            "height": HEIGHT_PX + (60 if few else 0),
            "barmode": "overlay",
            "bargap": 0.15 if few else 0,
            "margin": {"l": 8, "r": 16, "t": 34, "b": 40},
            "showlegend": bool(sparse),
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {
                **names,
                "tickangle": -60,
                "ticklabeloverflow": "allow",
                "automargin": True,
                "range": [-0.7, len(data.bars) - 0.3],
                "title": {
                    "text": "variables in forward order" + ("" if few else "; point at one to read its name"),
                    "font": {"size": 13},
                },
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {
                "title": {"text": "size (logarithmic)" if log else "size", "font": {"size": 13}},
                "type": "log" if log else "linear",
                "tickformat": "~s",
                "ticksuffix": "B",
                "automargin": True,
                "rangemode": "tozero",
            },
        },
    }


def model_sizes_figure(model: ModelSpec, log: bool = False) -> "go.Figure":
    """A model's variables by size, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    figure = go.Figure(draw_model_sizes(model_sizes(model), log))
    return figure.update_layout(template="plotly_white", title={"text": model.name}, margin={"t": 70})


def _bars(uid: str, name: str, bars: list[tuple[int, SizeBar]], nbytes: list[float], marker: Spec) -> Spec:
    return {
        "type": "bar",
        "uid": uid,
        "name": name,
        "showlegend": uid != "dense",
        "x": [i for i, _ in bars],
        "y": nbytes,
        "marker": {"line": {"width": 0}} | marker,
        "customdata": [_caption(b) for _, b in bars],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _caption(bar: SizeBar) -> str:
    shape = " x ".join(map(str, bar.shape)) or "one number"
    text = f"{bar.name}<br>{shape}, {bytes_text(bar.nbytes)}"
    return f"{text}<br>a step touches {bytes_text(bar.gradient_nbytes)} of it" if bar.sparse else text
