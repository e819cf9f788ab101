"""What ablations say together."""

from autosync_lab.study.ablations import Comparison, summing_up


def _of(change: str, with_it: tuple[float, float], expected: str) -> Comparison:
    return Comparison(
        "x", change, "here", "m", True, (1.0, 2.0), with_it, True, "the paper", expected  # type: ignore[arg-type]
    )  # fmt: skip


def test_effects_are_counted_and_those_that_surprise_are_named() -> None:
    words = summing_up(
        [
            _of("one", (2.0, 3.0), "better"),
            _of("two", (2.0, 3.0), "worse"),
            _of("three", (1.5, 1.0), "worse"),
            _of("four", (0.0, 1.0), ""),
            _of("five", (1.5, 1.0), ""),
        ]
    )
    assert words == (
        "Of 3 comparisons for which the paper leads one to expect something, 1 show it, 1 show the opposite, and 1 are"
        " not clear. Opposite to the paper: two, here (simulated). Clear, though the paper says nothing of it: four,"
        " here (simulated) (worse)."
    )


def test_without_comparisons_there_is_nothing_to_say() -> None:
    assert summing_up([]) == "Nothing was compared."
