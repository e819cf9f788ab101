"""`sparse-to-ps`: sparse variables go to parameter servers."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import ALL_REDUCED, StrategyBatch
from autosync_lab.space.constraints.base import Constraint, every
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import ParameterServer, Strategy


class SparseToPS(Constraint):
    """Every shard of a sparse variable is on a parameter server. On a single node rows cross no link: no rule there."""

    name = "sparse-to-ps"
    reason = "A server sends and takes only touched rows; collectives carry everybody's rows, or the whole table."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return len(self.cluster.nodes) == 1 or all(
            isinstance(shard, ParameterServer)
            for variable, entry in zip(self.model.variables, strategy.variables, strict=True)
            for shard in entry.shards
            if variable.sparse
        )

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        if len(self.cluster.nodes) == 1:
            return np.ones(len(batch), np.bool_)
        sparse = np.asarray([v.sparse for v in self.model.variables])
        return every(batch, ~sparse[batch.variable] | (batch.destination != ALL_REDUCED))

    def narrow(self, domain: Domain) -> Domain:
        if len(self.cluster.nodes) == 1:
            return domain
        return domain.each(self.model, lambda v, d: replace(d, all_reduce=False) if v.sparse else d)
