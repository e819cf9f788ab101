"""The seam `SearchAlgorithm`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.space import StrategySpace
from autosync_lab.strategy.spec import Strategy


@dataclass(frozen=True)
class Observation:
    """A strategy and the step time that was measured, seconds; NaN if its trial failed."""

    strategy: Strategy
    step_time_s: float


class SearchAlgorithm(ABC):
    """Proposes strategies, and learns from what was measured.

    Life cycle: `ask` and `tell` in any order, any number of times. What `ask` returns is a function of the space, the
    seed and the calls so far, so replaying those brings an algorithm back to where it was. No strategy that was told or
    asked before is proposed again; fewer than n are, where the space has no more to find.

    Parameters
    ----------
    space : StrategySpace
    seed : int
    """

    name: str
    """How people ask for it."""

    def __init__(self, space: StrategySpace, seed: int) -> None:
        self.space = space
        self.rng = np.random.default_rng(seed)
        self._seen: set[int] = set()
        self._told: list[StrategyBatch] = []
        self._times: list[float] = []

    @abstractmethod
    def propose(self, n: int) -> StrategyBatch:
        """About n candidates, best first; those seen before are left out by `ask`. Called until n are new."""

    def ask(self, n: int) -> list[Strategy]:
        """Up to n new strategies."""
        new: list[Strategy] = []
        for _ in range(PATIENCE):
            batch = self.propose(n - len(new))
            for i, key in enumerate(batch.hashes.tolist()):
                if len(new) < n and key not in self._seen:
                    self._seen.add(key)
                    new.append(batch[i])
            if len(new) == n:
                break
        return new

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from trials; those of strategies that were never asked (baselines) too."""
        if not observations:
            return
        batch = StrategyBatch.encode([o.strategy for o in observations], self.space.model, self.space.cluster)
        self._seen.update(batch.hashes.tolist())
        right = np.asarray([np.isfinite(o.step_time_s) for o in observations])
        if right.any():
            self._told.append(batch[right])
            self._times += [o.step_time_s for o in observations if np.isfinite(o.step_time_s)]

    def measured(self) -> tuple[StrategyBatch | None, npt.NDArray[np.float64]]:
        """Everything told that did not fail: strategies (None if there is none) and step times, [n]."""
        if not self._told:
            return None, np.zeros(0)
        return StrategyBatch.concatenate(self._told), np.asarray(self._times)

    def new_ones(self, batch: StrategyBatch) -> StrategyBatch:
        """The candidates that were not seen before, each once."""
        keys, first = np.unique(batch.hashes, return_index=True)
        fresh = [i for key, i in zip(keys.tolist(), first.tolist(), strict=True) if key not in self._seen]
        return batch[sorted(fresh)]

    def elite(self, count: int) -> StrategyBatch | None:
        """The fastest strategies told that are in the space, fastest first; None if there is none."""
        batch, times = self.measured()
        if batch is None:
            return None
        best = batch[np.argsort(times, kind="stable")]
        inside = np.flatnonzero(self.space.check(best))[:count]
        return best[inside] if len(inside) else None

    def next_seed(self) -> int:
        """A seed for something that is drawn next."""
        return int(self.rng.integers(2**62))


PATIENCE = 50
"""Rounds of proposals in a row that may bring too few new strategies."""
