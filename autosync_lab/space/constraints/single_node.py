"""`single-node-no-ps`: no servers on a single node."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import ALL_REDUCED, StrategyBatch
from autosync_lab.space.constraints.base import Constraint, every
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import AllReduce, Strategy


class SingleNodeNoPS(Constraint):
    """On a cluster of one node everything is all-reduced."""

    name = "single-node-no-ps"
    reason = "Inside one node there is no link to relieve, so a server is only a detour."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return len(self.cluster.nodes) > 1 or all(
            isinstance(shard, AllReduce) for entry in strategy.variables for shard in entry.shards
        )

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        return every(batch, (batch.destination == ALL_REDUCED) | (len(self.cluster.nodes) > 1))

    def narrow(self, domain: Domain) -> Domain:
        if len(self.cluster.nodes) > 1:
            return domain
        return domain.each(self.model, lambda _, d: replace(d, parameter_server=False))
