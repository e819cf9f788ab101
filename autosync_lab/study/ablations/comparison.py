"""`Comparison`: what one change does, with an interval, next to what the paper says."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Expected = Literal["better", "worse", ""]

Verdict = Literal["better", "worse", "no clear difference", "too few samples"]


@dataclass(frozen=True)
class Comparison:
    """One change, tried in the same circumstances with and without.

    Parameters
    ----------
    ablation : str
        Name of the ablation that it belongs to.
    change : str
        What was changed: "genetic instead of random proposals".
    where : str
        The model and cluster, or what else it was tried on.
    metric : str
        What was compared, with its unit.
    larger_is_better : bool
    without, with_it : tuple of float
        The metric without the change and with it, in pairs: seed by seed, or pair by pair.
    simulated : bool
        True if the step times came from a simulator.
    paper : str
        What the paper reports of this change, and where.
    expected : {"better", "worse", ""}
        What the paper leads one to expect; "" if nothing.
    """

    ablation: str
    change: str
    where: str
    metric: str
    larger_is_better: bool
    without: tuple[float, ...]
    with_it: tuple[float, ...]
    simulated: bool
    paper: str
    expected: Expected

    @property
    def difference(self) -> tuple[float, float, float]:
        """Mean of what the change adds to the metric, and its 95 % interval (Student's t over the pairs).

        NaN for an interval of fewer than two pairs.
        """
        added = np.asarray(self.with_it) - np.asarray(self.without)
        mean = float(added.mean()) if len(added) else float("nan")
        if len(added) < 2:
            return mean, float("nan"), float("nan")
        from scipy.special import stdtrit

        half = float(stdtrit(len(added) - 1, 0.975)) * float(added.std(ddof=1)) / len(added) ** 0.5
        return mean, mean - half, mean + half

    @property
    def verdict(self) -> Verdict:
        """What the change did here: better or worse only if the interval leaves no doubt."""
        _, low, high = self.difference
        if np.isnan(low):
            return "too few samples"
        if low <= 0.0 <= high:
            return "no clear difference"
        return "better" if (low > 0.0) == self.larger_is_better else "worse"

    @property
    def holds(self) -> bool | None:
        """True if the paper's effect shows here, False if the opposite does; None if neither is clear."""
        if not self.expected or self.verdict not in ("better", "worse"):
            return None
        return self.verdict == self.expected

    @property
    def holds_in_words(self) -> str:
        """Whether the paper's effect shows here, for people; empty if the paper leads one to expect nothing."""
        if not self.expected:
            return ""
        return {True: "yes", False: "no, the opposite", None: "not clear"}[self.holds]

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        mean, low, high = self.difference
        count = len(self.with_it)
        if not count:
            return f"{self.change}: nothing could be compared."
        simulated = " (simulated)" if self.simulated else ""
        interval = "" if np.isnan(low) else f", 95 % interval {low:+.3g} to {high:+.3g}"
        return (
            f"{self.change}, {self.where}{simulated}: {self.metric.split(':')[0]} {np.mean(self.without):.3g} without,"
            f" {np.mean(self.with_it):.3g} with it ({mean:+.3g}{interval}, {count} samples): {self.verdict}."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document."""
        mean, low, high = self.difference
        return {
            "ablation": self.ablation,
            "change": self.change,
            "where": self.where,
            "metric": self.metric,
            "simulated": self.simulated,
            "without": list(self.without),
            "with": list(self.with_it),
            "difference": _number(mean),
            "low": _number(low),
            "high": _number(high),
            "verdict": self.verdict,
            "paper": self.paper,
            "holds": self.holds,
        }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
