"""The seam `Simulator`."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import StrategyBatch


class Simulator(ABC):
    """Anything that predicts step times, or only their order, without running.

    Life cycle: `predict` at any time; `fit` with everything measured so far, again after each round. Deterministic: a
    function of its construction and of the last `fit`.
    """

    name: str
    """How people ask for it."""

    @abstractmethod
    def predict(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        """A score of every strategy, [n]: smaller is faster. Seconds, where `in_seconds` is True."""

    @abstractmethod
    def fit(self, batch: StrategyBatch, step_time_s: npt.NDArray[np.float64]) -> None:
        """Learn from measured step times, seconds, [n]."""

    def refine(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        """Scores like those of `predict` and more exact, where a simulator has some that take longer, [n]."""
        return self.predict(batch)

    def uncertainty(self, batch: StrategyBatch) -> npt.NDArray[np.float64] | None:
        """Standard deviation of the logarithm of what `refine` says, [n]; None where a simulator knows of none."""
        return None

    in_seconds: bool = True
    """False if scores say only which strategy is faster."""
