"""`CorrectedCostModel`: the cost model, with what a cluster was seen to do otherwise."""

import numpy as np
import numpy.typing as npt

from autosync_lab.simulator.base import Simulator
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.timeline import play
from autosync_lab.space.batch import ALL_REDUCED, UNGROUPED, StrategyBatch
from autosync_lab.strategy.spec import COMPRESSORS

PRIOR_TRIALS = 8.0
"""The correction is as strong as the prior once this many trials agree on it."""


class CorrectedCostModel(Simulator):
    """The cost model times exp of a ridge regression on what is left of the measured times.

    Its features are how much of each kind of work a strategy has (logarithms of shards on servers, groups, shares of
    bytes on servers and in each format, what the busiest server owns, and the prediction itself); with few trials the
    ridge keeps it at the cost model, so this is a prior that trials overrule. `predict` corrects the fast fidelity,
    `refine` the timeline.

    Parameters
    ----------
    cost_model : CostModel
    """

    name = "cost-model"

    def __init__(self, cost_model: CostModel) -> None:
        self._cost_model = cost_model
        self._played: dict[int, float] = {}
        self._weights: npt.NDArray[np.float64] | None = None
        self._mean = self._scale = np.zeros(0)

    def predict(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        return self._corrected(batch, self._cost_model.step_time(batch))

    def refine(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        return self._corrected(batch, self._exact(batch))

    def fit(self, batch: StrategyBatch, step_time_s: npt.NDArray[np.float64]) -> None:
        prior = self._exact(batch)
        left = np.log(step_time_s / prior)
        raw = _features(batch, prior)
        self._mean, self._scale = raw.mean(axis=0), raw.std(axis=0) + 1e-6
        x = self._standardized(raw)
        penalty = np.full(x.shape[1], PRIOR_TRIALS)
        # A common factor is no matter of belief: the first feature, a constant, is hardly held back.
        penalty[0] = 1.0
        self._weights = np.asarray(np.linalg.solve(x.T @ x + np.diag(penalty), x.T @ left), np.float64)

    def _corrected(self, batch: StrategyBatch, prior: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self._weights is None:
            return prior
        x = self._standardized(_features(batch, prior))
        return np.asarray(prior * np.exp(np.clip(x @ self._weights, -1.0, 1.0)))

    def _exact(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        """What the timeline says, [n]; each strategy is played once."""
        for i, key in enumerate(batch.hashes.tolist()):
            if key not in self._played:
                self._played[key] = play(self._cost_model, batch[i : i + 1]).step_time_s
        return np.asarray([self._played[key] for key in batch.hashes.tolist()])

    def _standardized(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        x = np.clip((raw - self._mean) / self._scale, -3.0, 3.0)
        return np.column_stack([np.ones(len(x)), x])


def _features(batch: StrategyBatch, prior: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    n, nodes = len(batch), len(batch.cluster.nodes)
    nbytes = batch.share * np.asarray([v.gradient_nbytes for v in batch.model.variables])[batch.variable]
    served = batch.destination != ALL_REDUCED
    total = np.bincount(batch.candidate, nbytes, n)
    on_servers = np.bincount(batch.candidate[served], nbytes[served], n)
    owned = np.bincount(batch.candidate[served] * nodes + batch.destination[served], nbytes[served], n * nodes).reshape(
        n, nodes
    )
    groups = np.zeros(n)
    np.maximum.at(groups, batch.candidate, batch.group + 1.0)
    loose = np.bincount(batch.candidate[~served & (batch.group == UNGROUPED)], minlength=n)
    packed = [
        np.bincount(batch.candidate[batch.compressor == code], nbytes[batch.compressor == code], n) / total
        for code in range(1, len(COMPRESSORS))
    ]
    return np.column_stack(
        [
            np.log(prior),
            np.log1p(np.bincount(batch.candidate[served], minlength=n)),
            np.log1p(np.bincount(batch.candidate[~served], minlength=n)),
            np.log1p(groups + loose),
            on_servers / total,
            owned.max(axis=1) / total,
            *packed,
            batch.push_credit > 0,
        ]
    )
