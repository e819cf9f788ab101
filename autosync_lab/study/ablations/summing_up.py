"""What some ablations say together, in words."""

from collections.abc import Sequence

from autosync_lab.study.ablations.comparison import Comparison


def summing_up(comparisons: Sequence[Comparison]) -> str:
    """How many of the paper's effects show here, and what else is clear; one sentence each."""
    expected = [c for c in comparisons if c.expected]
    sentences = []
    if expected:
        shown, opposite = ([c for c in expected if c.holds is held] for held in (True, False))
        sentences.append(
            f"Of {len(expected)} comparisons for which the paper leads one to expect something, {len(shown)} show it,"
            f" {len(opposite)} show the opposite, and {len(expected) - len(shown) - len(opposite)} are not clear."
        )
        if opposite:
            sentences.append(f"Opposite to the paper: {'; '.join(map(_named, opposite))}.")
    clear = [c for c in comparisons if not c.expected and c.verdict in ("better", "worse")]
    if clear:
        named = "; ".join(f"{_named(c)} ({c.verdict})" for c in clear)
        sentences.append(f"Clear, though the paper says nothing of it: {named}.")
    return " ".join(sentences) or "Nothing was compared."


def _named(c: Comparison) -> str:
    return f"{c.change}, {c.where}{' (simulated)' if c.simulated else ''}"
