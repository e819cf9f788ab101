"""`embedding-axis-0`: tables are cut between rows."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.model.variable import Variable
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.constraints.base import Constraint
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import Strategy


class EmbeddingAxis0(Constraint):
    """An embedding table is partitioned on axis 0, or not at all: also where its gradient is dense."""

    name = "embedding-axis-0"
    reason = "A lookup then asks only the shards that hold its rows; on any other axis it asks all of them."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return all(
            entry.axis in (None, 0)
            for variable, entry in zip(self.model.variables, strategy.variables, strict=True)
            if is_embedding(variable)
        )

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        tables = np.asarray([is_embedding(v) for v in self.model.variables])
        return np.asarray((~tables | (batch.axis <= 0)).all(axis=1))

    def narrow(self, domain: Domain) -> Domain:
        return domain.each(
            self.model,
            lambda v, d: (
                replace(d, partitions=tuple(p for p in d.partitions if p.axis in (None, 0))) if is_embedding(v) else d
            ),
        )


def is_embedding(variable: Variable) -> bool:
    """True for a table whose rows are looked up: its gradient is rows, or its name says so."""
    return variable.sparse or (len(variable.shape) == 2 and "embedding" in variable.name.lower())
