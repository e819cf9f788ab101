"""What commands write: results to stdout (a table, or one JSON document), messages to stderr."""

import json
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_OF_A_PIPE = 240
"""Columns of a table that goes to a file or another program, where nothing should be cut off."""


def say(message: str) -> None:
    """Write a message to stderr."""
    print(message, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Write one JSON document to stdout; numbers that JSON does not have (NaN, infinities) become null."""
    print(json.dumps(strict(document), indent=1, allow_nan=False))


def strict(value: Any) -> Any:
    """A copy of a document with null for every number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    return value


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    left: int = 1,
    words: Collection[str] = (),
) -> None:
    """Write a table to stdout.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences of str
        As long as `columns`.
    title : str, optional
    left : int
        That many first columns hold words and are aligned to the left; the others hold numbers.
    words : collection of str
        Names of other columns that hold words.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left or column in words else "right", overflow="fold")
    for row in rows:
        # Text: a name with [brackets] is a name, not markup.
        table.add_row(*(Text(cell) for cell in row))
    out = console()
    if title is not None:
        out.print(Text(title, style="bold"), soft_wrap=True)
    out.print(table)


def console() -> "Console":
    """Stdout."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE, highlight=False)


@cache
def message_console() -> "Console":
    """Stderr, for progress bars."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)


def seconds(value: float) -> str:
    """A duration for people: 1.23 s, 45.6 ms, 7.89 µs; a dash if there is none."""
    if not math.isfinite(value):
        return "-"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 0.9995 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError("the smallest unit takes everything")


def megabytes(value: float) -> str:
    """Bytes as MB (10^6 bytes), for people."""
    return "-" if not math.isfinite(value) else f"{value / 1e6:,.3g}" if value < 1e9 else f"{value / 1e6:,.0f}"


def plural(count: int, thing: str) -> str:
    """1 trial, 2 trials."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def times(value: float) -> str:
    """A ratio, for people: 1.23x."""
    return f"{value:.2f}x" if math.isfinite(value) else "-"
