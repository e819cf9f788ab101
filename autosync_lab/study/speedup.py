"""`Speedup`: how much faster the best strategy found is than the best baseline, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput

CONFIDENCE = 0.95

RESAMPLES = 10_000
"""Bootstrap resamples: the interval's ends move by less than 1 % of its width from seed to seed."""


@dataclass(frozen=True)
class Speedup:
    """The best strategy found against the best baseline, both measured again, in turns.

    Parameters
    ----------
    best_label, best_id : str
        The strategy found: its label and content id.
    baseline_label, baseline_id : str
    ratio : float
        Median step time of the baseline's trials over that of the found strategy's: above 1, the search won.
    low, high : float
        The interval of `ratio` (see `bootstrap_ratio`).
    confidence : float
        Of the interval.
    best_times_s, baseline_times_s : tuple of float
        Step time of every trial.
    simulated : bool
        True if a simulator produced any of the times: then nothing was measured.
    """

    best_label: str
    best_id: str
    baseline_label: str
    baseline_id: str
    ratio: float
    low: float
    high: float
    confidence: float
    best_times_s: tuple[float, ...]
    baseline_times_s: tuple[float, ...]
    simulated: bool

    @property
    def samples(self) -> int:
        """Trials of each of the two, the smaller number."""
        return min(len(self.best_times_s), len(self.baseline_times_s))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document."""
        lists = {"best_times_s": list(self.best_times_s), "baseline_times_s": list(self.baseline_times_s)}
        return {**self.__dict__, **lists}

    @classmethod
    def from_json(cls, document: Any) -> "Speedup":
        """Inverse of `to_json`.

        Raises
        ------
        InvalidInput
            If the document is not one.
        """
        try:
            times = {name: tuple(map(float, document[name])) for name in ("best_times_s", "baseline_times_s")}
            return cls(**{**document, **times})
        except (TypeError, KeyError, ValueError) as error:
            raise InvalidInput(f"this is no speedup ({error})", received=document) from None


def bootstrap_ratio(
    baseline_s: Sequence[float], best_s: Sequence[float], seed: int, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """Ratio of two medians with its percentile bootstrap interval.

    The unit is the trial: its own steps share one pool, one graph and one moment, so they are no independent samples.
    `RESAMPLES` times, as many trials as there are are drawn with replacement, of each of the two independently, and the
    ratio of their medians taken; the interval holds the central `confidence` of these ratios (Efron and Tibshirani,
    An Introduction to the Bootstrap, 1993, section 13.3). With n trials a resample's median is one of n values (n odd),
    so with fewer than about 5 trials the interval is narrower than it should be.

    Parameters
    ----------
    baseline_s, best_s : sequence of float
        Step time of each trial, seconds; at least one of each.
    seed : int
    confidence : float

    Returns
    -------
    tuple of float
        median(baseline) / median(best), and the ends of its interval.
    """
    if not len(baseline_s) or not len(best_s):
        raise InvalidInput("a ratio of medians needs at least one trial of each")
    rng = np.random.default_rng(seed)
    above, below = _medians(baseline_s, rng), _medians(best_s, rng)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(above / below, [tail, 1.0 - tail])
    return float(np.median(baseline_s) / np.median(best_s)), float(low), float(high)


def _medians(times: Sequence[float], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    values = np.asarray(times, np.float64)
    drawn = values[rng.integers(len(values), size=(RESAMPLES, len(values)))]
    return np.asarray(np.median(drawn, axis=1), np.float64)
