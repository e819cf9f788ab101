"""`adjacent-merge`: neighbours travel together."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.space.arrays import ModelArrays
from autosync_lab.space.batch import ALL_REDUCED, UNGROUPED, StrategyBatch
from autosync_lab.space.constraints.base import Constraint
from autosync_lab.space.domain import Domain
from autosync_lab.space.grouping import contiguous
from autosync_lab.strategy.spec import Strategy


class AdjacentMerge(Constraint):
    """Every all-reduced shard is in a group, and groups are contiguous in the order in which gradients are ready, among
    shards that can travel together (one compressor; rows apart from dense gradients). Samplers draw the number of
    groups and cut the bytes into equal parts.

    Source: AutoSync's "ordered balanced" group assigner.
    """

    name = "adjacent-merge"
    reason = "A collective starts when its last gradient is ready; fusing neighbours delays none of them for long."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return bool(self.holds_all(StrategyBatch.encode([strategy], self.model, self.cluster))[0])

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        model = ModelArrays.of(self.model)
        grouped = (batch.destination != ALL_REDUCED) | (batch.group != UNGROUPED)
        ungrouped = np.bincount(batch.candidate[~grouped], minlength=len(batch))
        ordered = contiguous(
            batch.start,
            batch.destination,
            batch.group,
            batch.compressor,
            batch.densified,
            model.sparse,
            model.ready_order,
        )
        return np.asarray(ordered & (ungrouped == 0))

    def narrow(self, domain: Domain) -> Domain:
        return replace(domain, adjacent_groups=True)
