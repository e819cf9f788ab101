"""`SpacePanel`: which choices every variable has, what pruned the others, and locks."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import traitlets

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.space import StrategySpace
from autosync_widgets.choice_board import ChoiceBoard
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.pruning_funnel import left_text
from autosync_widgets.figures.space_choices import ASPECTS, variable_choices
from autosync_widgets.figures.space_grid import (
    GridCell,
    GridRow,
    SpaceGrid,
    cell_text,
    draw_space_grid,
    share_left,
    space_grid,
    space_grid_figure,
)
from autosync_widgets.figures.space_stages import Stages, space_stages
from autosync_widgets.panels.given import given_space
from autosync_widgets.panels.panel import Panel, button, heading, notice, row, status, text
from autosync_widgets.panels.toggled_lock import toggled_lock
from autosync_widgets.throttle import Throttle
from autosync_widgets.variable_table import Cell, Column, Row, VariableTable
from autosync_widgets.wording import bytes_text, plural

if TYPE_CHECKING:
    import plotly.graph_objects as go

COUNT_PERIOD_S = 0.05
"""Seconds between two counts of the space, which clicks may ask for faster than counting is."""

HOW_TO = (
    "A cell says how many choices are left of how many are valid. Select a variable, with the pointer or the arrow "
    "keys, to see its choices and why others are pruned; click a choice to lock it."
)


class SpacePanel(Panel):
    """The strategy space, variable by aspect.

    Parameters
    ----------
    model : str or ModelSpec, optional
        A catalog name, a file, or a model of your own.
    cluster : str or ClusterSpec, optional
        A preset, a file, or a cluster of your own.
    space : StrategySpace, optional
        In place of both; else the space has the constraints of a search.

    Attributes
    ----------
    space : StrategySpace
        What is shown now, with the locks that were made. It can be set, and linked with that of another panel:
        `traitlets.link((funnel, "space"), (panel, "space"))`.

    Raises
    ------
    InvalidInput
        If something does not exist. Locks that leave no strategy are explained in the panel.

    Examples
    --------
    >>> SpacePanel("ncf-small", "emulated-hetero-4")  # doctest: +SKIP
    """

    space = traitlets.Instance(StrategySpace, allow_none=True)

    def __init__(
        self,
        model: str | ModelSpec | None = None,
        cluster: str | ClusterSpec | None = None,
        *,
        space: StrategySpace | None = None,
    ) -> None:
        # First what `close` needs, which runs even if the rest of this raises.
        self._count = Throttle(self._show_size, COUNT_PERIOD_S)
        shown = given_space(model, cluster, space)
        self._stages: Stages | None = None
        self._facts = text("autosync-facts")
        self._notice = text("autosync-notices")
        self._locks = text("autosync-locks")
        self._unlock_all = button("Unlock everything", "Give back every choice that you locked.")
        self._unlock_all.on_click(lambda _: self._unlock(*(x.variable for x in self.space.locks)))
        self._table = VariableTable("How many choices each variable has, aspect by aspect", ())
        self._table.observe(lambda _: self._show_board(), "selected")
        self._board = ChoiceBoard(self._lock, self._unlock)
        download = DownloadButton("Grid as HTML", "Download the grid as a page of its own.", self._file)
        super().__init__(
            [
                self._facts,
                row(self._locks, self._unlock_all, download),
                self._notice,
                row(self._table, self._board, css_class="autosync-two"),
            ]
        )
        self.observe(lambda _: self._show(), "space")
        self.space = shown

    def figure(self) -> "go.Figure":
        """The grid, as a plotly figure that stands alone."""
        return space_grid_figure(self.space)

    def close(self) -> None:
        """Take the widget off the page."""
        self._count.close()
        super().close()

    def _show(self) -> None:
        self._notice.value = ""
        self._stages = space_stages(self.space)
        grid = space_grid(self.space, self._stages)
        columns = [
            Column("size", "Bytes of the whole variable.", number=True),
            *(Column(a, ASPECTS[a], number=True) for a in grid.aspects),
        ]
        self._table.show([_row(grid, r) for r in grid.rows], columns)
        names = [r.variable for r in grid.rows]
        if self._table.selected not in names:
            self._table.selected = max(grid.rows, key=lambda r: r.nbytes).variable
        self._show_board()
        locked = [r.variable for r in grid.rows if r.locked]
        self._locks.value = _locks_html(locked)
        self._unlock_all.disabled = not locked
        self._say_size("Counting ...")
        self._count.ask()

    def _show_board(self) -> None:
        names = [v.name for v in self.space.model.variables]
        if self._table.selected in names:
            index = names.index(self._table.selected)
            self._board.show(variable_choices(self.space, index, self._stages))

    def _show_size(self) -> None:
        space = self.space
        report = space.report()
        if space is self.space:
            self._say_size(left_text(report))

    def _say_size(self, size: str) -> None:
        space = self.space
        sentence = size
        own = [c.name for c in space.constraints if not c.exact]
        if own:
            sentence += f" {', '.join(own)}: tested on whole strategies, so no single choice is struck out for it."
        self._facts.value = (
            heading(f"Strategy space of {space.model.name} on {space.cluster.name}")
            + status(sentence)
            + f"<br>{escape(HOW_TO)}"
        )

    def _lock(self, variable: str, choice: dict[str, Any]) -> None:
        now: Mapping[str, Any] = next((x.choices for x in self.space.locks if x.variable == variable), {})
        lock = toggled_lock(now, choice)
        try:
            self.space = self.space.lock(variable, **lock) if lock else self.space.unlock(variable)
        except AutoSyncLabError as error:
            self._notice.value = notice(f"Not locked: {error}")

    def _unlock(self, *variables: str) -> None:
        space = self.space
        for variable in variables:
            space = space.unlock(variable)
        self.space = space

    def _file(self) -> TextFile:
        grid = space_grid(self.space, self._stages)
        return figure_file(f"space-{grid.title}", f"Strategy space of {grid.title}", [draw_space_grid(grid)])


def _row(grid: SpaceGrid, row: GridRow) -> Row:
    badges = ("sparse",) * row.sparse + ("locked",) * row.locked
    cells = [Cell(bytes_text(row.nbytes), key=row.nbytes)]
    cells += [_cell(a, c) for a, c in zip(grid.aspects, row.cells, strict=True)]
    return Row(row.variable, tuple(cells), badges)


def _cell(aspect: str, cell: GridCell) -> Cell:
    if not cell.valid:
        return Cell("—", key=-1.0, tooltip=f"{aspect}: means nothing here.")
    why = f"Pruned by {', '.join(cell.pruned_by)}." if cell.pruned_by else "Nothing is pruned."
    return Cell(cell_text(cell), float(cell.left), share_left(cell), why)


def _locks_html(locked: list[str]) -> str:
    if not locked:
        return "Nothing is locked."
    return (
        f"<b>{plural(len(locked), 'variable')} locked</b>: {escape(', '.join(locked[:4]))}{', ...' * (len(locked) > 4)}"
    )
