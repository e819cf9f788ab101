"""`no-local-replication-without-co-located-replicas`."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.constraints.base import Constraint, every
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import ParameterServer, Strategy


class NoLocalReplication(Constraint):
    """Nothing is locally replicated where no node has two replicas."""

    name = "no-local-replication-without-co-located-replicas"
    reason = "Summing inside a node changes nothing where a node has one replica."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return self._co_located or not any(
            isinstance(shard, ParameterServer) and shard.local_replication
            for entry in strategy.variables
            for shard in entry.shards
        )

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        return every(batch, self._co_located | ~batch.local_replication)

    def narrow(self, domain: Domain) -> Domain:
        if self._co_located:
            return domain
        return domain.each(
            self.model, lambda _, d: replace(d, local_replication=tuple(x for x in d.local_replication if not x))
        )

    @property
    def _co_located(self) -> bool:
        return any(node.replicas > 1 for node in self.cluster.nodes)
