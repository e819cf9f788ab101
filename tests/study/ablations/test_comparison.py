"""A comparison's interval and verdict."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from autosync_lab.study.ablations.comparison import Comparison


def _comparison(
    without: tuple[float, ...], with_it: tuple[float, ...], *, larger: bool = True, expected: str = "better"
) -> Comparison:
    return Comparison(
        "x", "a change", "somewhere", "a metric", larger, without, with_it, False, "the paper", expected  # type: ignore[arg-type]
    )  # fmt: skip


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=2, max_size=50))
def test_the_interval_is_that_of_a_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    without, with_it = zip(*pairs, strict=True)
    mean, low, high = _comparison(without, with_it).difference
    added = np.subtract(with_it, without)
    expected = stats.t.interval(0.95, len(added) - 1, added.mean(), max(stats.sem(added), 1e-300))
    assert mean == pytest.approx(added.mean())
    assert (low, high) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("larger", "verdict"), [(True, "better"), (False, "worse")])
def test_a_clear_gain_is_better_where_larger_is_better(larger: bool, verdict: str) -> None:
    assert _comparison((1.0, 2.0, 3.0), (2.0, 3.1, 4.0), larger=larger).verdict == verdict


def test_what_may_be_chance_is_no_clear_difference() -> None:
    assert _comparison((1.0, 2.0, 3.0), (2.0, 1.0, 3.5)).verdict == "no clear difference"


@pytest.mark.parametrize("values", [(), (1.0,)])
def test_fewer_than_two_pairs_prove_nothing(values: tuple[float, ...]) -> None:
    one = _comparison(values, values)
    assert one.verdict == "too few samples"
    assert one.holds is None
    assert one.to_json()["low"] is None


@pytest.mark.parametrize(
    ("expected", "holds"), [("better", True), ("worse", False), ("", None)], ids=["as the paper", "opposite", "nothing"]
)
def test_the_effect_holds_if_it_is_the_expected_one(expected: str, holds: bool | None) -> None:
    assert _comparison((1.0, 2.0), (2.0, 3.0), expected=expected).holds is holds


def test_an_unclear_effect_neither_holds_nor_not() -> None:
    assert _comparison((1.0, 2.0), (1.5, 1.0)).holds is None


def test_its_sentence_has_both_means_and_the_interval() -> None:
    words = _comparison((1.0, 2.0), (2.0, 3.0)).sentence
    assert words == (
        "a change, somewhere: a metric 1.5 without, 2.5 with it (+1, 95 % interval +1 to +1, 2 samples): better."
    )
    assert _comparison((), ()).sentence == "a change: nothing could be compared."


@pytest.mark.parametrize(
    ("with_it", "expected", "words"),
    [
        ((2.0, 3.0), "better", "yes"),
        ((2.0, 3.0), "worse", "no, the opposite"),
        ((1.5, 1.0), "worse", "not clear"),
        ((2.0, 3.0), "", ""),
    ],
)
def test_whether_the_effect_holds_is_said_in_words(with_it: tuple[float, float], expected: str, words: str) -> None:
    assert _comparison((1.0, 2.0), with_it, expected=expected).holds_in_words == words


def test_its_document_says_whether_it_is_simulated() -> None:
    document = _comparison((1.0, 2.0), (2.0, 3.0)).to_json()
    assert document["simulated"] is False
    assert document["difference"] == 1.0
    assert not math.isnan(document["high"])
