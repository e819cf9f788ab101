"""`VariableTable`: one row per variable, to sort, to search and to select from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import traitlets

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Column:
    """One column: its heading, what it means in plain words, and whether it holds numbers."""

    label: str
    tooltip: str
    number: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell.

    Parameters
    ----------
    text : str
    key : float, optional
        What the column is sorted by; its text if None.
    share : float, optional
        Drawn as a bar, in [0, 1].
    tooltip : str
    strong : bool
        Emphasized.
    """

    text: str
    key: float | None = None
    share: float | None = None
    tooltip: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Row:
    """One row: the variable's name, badges beside it, and its cells."""

    name: str
    cells: tuple[Cell, ...]
    badges: tuple[str, ...] = ()


class VariableTable(anywidget.AnyWidget):
    """A table of a model's variables; a thousand rows stay fluid.

    A row is selected by a click, or with the arrow keys once the table has the focus. A click on a heading sorts.

    Parameters
    ----------
    caption : str
        What the table shows, for those who cannot see it.
    columns : sequence of Column
        Beside that of the names.
    rows : sequence of Row

    Attributes
    ----------
    selected : str
        Name of the selected variable; empty if there is none.
    """

    _esm = _HERE / "variable_table.js"
    _css = _HERE / "variable_table.css"
    caption = traitlets.Unicode().tag(sync=True)
    columns = traitlets.List().tag(sync=True)
    rows = traitlets.List().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)

    def __init__(self, caption: str, columns: Sequence[Column], rows: Sequence[Row] = ()) -> None:
        super().__init__(caption=caption, columns=_column_data(columns), rows=_row_data(rows))

    def show(self, rows: Sequence[Row], columns: Sequence[Column] | None = None) -> None:
        """Show other rows, and other columns if given; callable from any thread."""
        with self.hold_sync():
            if columns is not None:
                self.columns = _column_data(columns)
            self.rows = _row_data(rows)


def _column_data(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [{"label": c.label, "tooltip": c.tooltip, "number": c.number} for c in columns]


def _row_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    # Short keys: a thousand rows are half a megabyte with long ones.
    return [{"n": r.name, "b": list(r.badges), "c": [_cell_data(c) for c in r.cells]} for r in rows]


def _cell_data(cell: Cell) -> dict[str, Any]:
    data: dict[str, Any] = {"t": cell.text}
    if cell.key is not None:
        data["k"] = cell.key
    if cell.share is not None:
        data["s"] = round(cell.share, 3)
    if cell.tooltip:
        data["h"] = cell.tooltip
    if cell.strong:
        data["e"] = 1
    return data
