"""`same-synchronizer-per-variable`: a variable's shards travel one way."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import ALL_REDUCED, StrategyBatch
from autosync_lab.space.constraints.base import Constraint
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import Strategy


class SameSynchronizer(Constraint):
    """The shards of one variable are all on parameter servers, or all all-reduced."""

    name = "same-synchronizer-per-variable"
    reason = "What favours a synchronizer (sparsity, size, when the gradient is ready) is the same for all its shards."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return all(len({shard.kind for shard in entry.shards}) == 1 for entry in strategy.variables)

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        served = np.add.reduceat(batch.destination != ALL_REDUCED, batch.start[:-1], dtype=np.int64)
        of_variable = served.reshape(batch.shards.shape)
        return np.asarray(((of_variable == 0) | (of_variable == batch.shards)).all(axis=1))

    def narrow(self, domain: Domain) -> Domain:
        return replace(domain, one_synchronizer=True)
