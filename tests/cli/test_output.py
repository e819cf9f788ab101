import json
import math
from typing import Any

import pytest

from autosync_lab.cli.output import megabytes, print_json, print_table, seconds, strict, times


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.2345, "1.23 s"),
        (0.9999, "1 s"),
        (0.9994, "999 ms"),
        (0.0456, "45.6 ms"),
        (7.89e-6, "7.89 µs"),
        (0.0, "0 µs"),
        (123.4, "123 s"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(("value", "text"), [(1_500_000, "1.5"), (528e6, "528"), (1.34e9, "1,340"), (0, "0")])
def test_megabytes(value: float, text: str) -> None:
    assert megabytes(value) == text


def test_times() -> None:
    assert (times(1.234), times(math.nan)) == ("1.23x", "-")


def test_numbers_that_json_does_not_have_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": (math.nan, {"b": -math.inf}), "c": 1.5})
    assert json.loads(capsys.readouterr().out) == {"a": [None, {"b": None}], "c": 1.5}
    assert strict("NaN") == "NaN"


def test_a_table_for_a_pipe_is_not_cut_and_takes_names_as_they_are(
    capsys: pytest.CaptureFixture[Any],
) -> None:
    name = "scope/[red]layer" + "x" * 100
    print_table(("variable", "MB"), [(name, "1.5")])
    assert name in capsys.readouterr().out


def test_columns_of_words_stand_to_the_left_and_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "count", "why"), [("a", "1", "short"), ("longer", "1000", "a longer reason")], words=("why",))
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines if "short" in line or "reason" in line] == [
        "a           1  short",
        "longer   1000  a longer reason",
    ]
