"""Messages of mistakes: the rule, the value, the choices, and never of any length."""

import pytest

from autosync_lab.errors import MOST_VALID, InvalidInput


def test_a_mistake_says_where_what_and_what_would_do() -> None:
    error = InvalidInput("unknown thing", where="here", received="aple", valid=("apple", "pear"))
    assert str(error) == "here: unknown thing (received 'aple'); did you mean 'apple'? Valid: apple, pear."
    assert (error.rule, error.where, error.received, error.valid) == (
        "unknown thing",
        "here",
        "aple",
        ("apple", "pear"),
    )


def test_many_choices_are_cut_but_the_closest_is_found() -> None:
    names = [f"layer{i}/kernel" for i in range(500)]
    text = str(InvalidInput("unknown variable", received="layer499/kernal", valid=names))
    assert "did you mean 'layer499/kernel'?" in text
    assert text.endswith(f"and {500 - MOST_VALID} more.")
    assert len(text) < 2000


@pytest.mark.parametrize(
    "value",
    ["x" * 10_000, list(range(10_000)), {i: [i] * 100 for i in range(1000)}, 10**4000, 10**9000],
    ids=["text", "list", "map", "number", "number that Python does not write"],
)
def test_a_long_value_is_cut(value: object) -> None:
    assert len(str(InvalidInput("too much", received=value, valid=("a",)))) < 1000


def test_no_choice_at_all() -> None:
    assert str(InvalidInput("unknown", received="a", valid=())).endswith("There are no valid choices.")
