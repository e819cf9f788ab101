import json

from autosync_widgets.variable_table import Cell, Column, Row, VariableTable


def test_rows_travel_as_short_data_and_keep_their_order() -> None:
    table = VariableTable("what", [Column("size", "Bytes.", number=True)])
    table.show([Row("b", (Cell("1 kB", 1000.0, 0.5, "why", True),), ("sparse",)), Row("a", (Cell("—"),))])
    assert table.columns == [{"label": "size", "tooltip": "Bytes.", "number": True}]
    assert table.rows == [
        {"n": "b", "b": ["sparse"], "c": [{"t": "1 kB", "k": 1000.0, "s": 0.5, "h": "why", "e": 1}]},
        {"n": "a", "b": [], "c": [{"t": "—"}]},
    ]
    table.show([], [Column("other", "Else.")])
    assert (table.rows, table.columns[0]["label"], table.selected) == ([], "other", "")


def test_a_thousand_rows_are_less_than_a_megabyte() -> None:
    cells = tuple(Cell("40 of 79", 40.0, 0.506, "Pruned by partition-bounds.") for _ in range(7))
    table = VariableTable("what", [Column("x", "y")] * 7, [Row(f"layer{i}/kernel", cells) for i in range(1000)])
    assert len(json.dumps(table.rows)) < 1_000_000
