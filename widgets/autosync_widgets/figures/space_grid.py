"""Variable by aspect: how many choices are left of how many."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.domain import Domain
from autosync_lab.space.space import StrategySpace
from autosync_widgets.figures.changes import Spec
from autosync_widgets.figures.space_choices import ASPECTS, groupings, may_mix, mergeable_shards
from autosync_widgets.figures.space_stages import Stages, space_stages

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_HEIGHT_PX = 24
FRAME_HEIGHT_PX = 110
MOST_TEXTS = 60
"""With more rows than this their names and numbers are left to the pointer."""
MOST_HEIGHT_PX = 1200


@dataclass(frozen=True)
class GridCell:
    """Choices of one variable in one aspect: `left` of `valid`, and what pruned some of them."""

    left: int
    valid: int
    pruned_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class GridRow:
    """One variable, its bytes, whether its gradient is rows, whether the user locked something, and its cells."""

    variable: str
    nbytes: int
    sparse: bool
    locked: bool
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class SpaceGrid:
    """What the figure shows: variables in forward order, and the aspects of the columns."""

    title: str
    aspects: tuple[str, ...]
    rows: tuple[GridRow, ...]


def space_grid(space: StrategySpace, stages: Stages | None = None) -> SpaceGrid:
    """The grid of a space.

    Parameters
    ----------
    space : StrategySpace
    stages : Stages, optional
        Of the space, if they are known already.
    """
    stages = stages or space_stages(space)
    model = space.model
    aspects = tuple(a for a in ASPECTS if a != "sparse as" or any(v.sparse for v in model.variables))
    valid = _counts(model, stages.valid)
    after = [(s.name, _counts(model, s.domain)) for s in stages.steps]
    locked = {x.variable for x in space.locks if x.choices}
    rows = []
    for v, variable in enumerate(model.variables):
        cells = []
        for a in range(len(aspects)):
            before, takers = valid[v][a], []
            for name, counts in after:
                if counts[v][a] < before:
                    takers.append(name)
                before = counts[v][a]
            cells.append(GridCell(before, valid[v][a], tuple(takers)))
        rows.append(GridRow(variable.name, variable.nbytes, variable.sparse, variable.name in locked, tuple(cells)))
    return SpaceGrid(f"{model.name} on {space.cluster.name}", aspects, tuple(rows))


def _counts(model: ModelSpec, domain: Domain) -> list[tuple[int, ...]]:
    """For each variable, how many choices each of `ASPECTS` has."""
    shards = mergeable_shards(model, domain)
    counts: list[tuple[int, ...]] = []
    for v, (variable, left) in enumerate(zip(model.variables, domain.variables, strict=True)):
        served, reduced = left.parameter_server, left.all_reduce
        compressed = not variable.sparse or True in left.densified
        counts.append(
            (
                len(left.partitions),
                served + reduced + may_mix(domain, left),
                (1 if domain.greedy_placement else len(left.destinations)) if served else 0,
                len(left.local_replication) if served else 0,
                len(groupings(domain, shards[v])) if reduced else 0,
                (len(left.compressors) if compressed else 1) if reduced else 0,
                len(left.densified) if reduced and variable.sparse else 0,
            )
        )
    return counts


def share_left(cell: GridCell) -> float:
    """Share of the choices that is left, in [0, 1]."""
    return cell.left / cell.valid if cell.valid else 0.0


def cell_text(cell: GridCell) -> str:
    """The cell in words: `2 of 3`, a dash where there is nothing to choose."""
    return f"{cell.left} of {cell.valid}" if cell.valid else "—"


def draw_space_grid(data: SpaceGrid) -> Spec:
    """A heatmap of the share that is left, with the numbers in its cells."""
    few = len(data.rows) <= MOST_TEXTS
    heat: Spec = {
        "type": "heatmap",
        "uid": "grid",
        "x": list(data.aspects),
        "y": list(range(len(data.rows))),
        "z": [[share_left(c) if c.valid else None for c in row.cells] for row in data.rows],
        "zmin": 0,
        "zmax": 1,
        "colorscale": "Cividis",
        "xgap": 2,
        "ygap": 2 if few else 0,
        "colorbar": {"title": {"text": "share left"}, "tickformat": ".0%"},
        "customdata": [
            [_caption(row, a, c) for a, c in zip(data.aspects, row.cells, strict=True)] for row in data.rows
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    if few:
        heat |= {"text": [[cell_text(c) for c in row.cells] for row in data.rows], "texttemplate": "%{text}"}
    return {
        "data": [heat],
        "layout": {
            "height": min(MOST_HEIGHT_PX, FRAME_HEIGHT_PX + ROW_HEIGHT_PX * len(data.rows)),
            "margin": {"l": 8, "r": 8, "t": 70, "b": 20},
            "modebar": {"remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"]},
            "xaxis": {"side": "top", "showgrid": False, "fixedrange": True},
            "yaxis": {
                "autorange": "reversed",
                "tickmode": "array",
                "tickvals": list(range(len(data.rows))) if few else [],
                "ticktext": [row.variable for row in data.rows] if few else [],
                "title": {"text": "" if few else "variables in forward order"},
                "automargin": True,
                "showgrid": False,
            },
        },
    }


def space_grid_figure(space: StrategySpace) -> "go.Figure":
    """The grid of a space, as a plotly figure that stands alone."""
    import plotly.graph_objects as go

    data = space_grid(space)
    figure = go.Figure(draw_space_grid(data))
    return figure.update_layout(template="plotly_white", title={"text": data.title}, margin={"t": 110})


def _caption(row: GridRow, aspect: str, cell: GridCell) -> str:
    by = f"<br>pruned by {', '.join(cell.pruned_by)}" if cell.pruned_by else ""
    return f"{row.variable}<br>{aspect}: {cell_text(cell)}{by}"
