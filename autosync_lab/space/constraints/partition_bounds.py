"""`partition-bounds`: neither crumbs nor lumps."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.model.variable import Variable
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.constraints.base import Constraint
from autosync_lab.space.domain import Domain, Partition, VariableDomain
from autosync_lab.strategy.spec import Strategy

MIN_SHARD_BYTES = 16 * 1024
"""Below this a message's fixed cost exceeds that of its bytes, on the links of every preset."""

MAX_SHARDS = 40
"""The most in AutoSync's space."""


class PartitionBounds(Constraint):
    """A partitioned variable has at most `max_shards` shards of at least `min_bytes` each (the mean counts).

    Parameters
    ----------
    min_bytes : int
        Least bytes of a shard. A variable of less than twice that stays whole.
    max_shards : int
    always_above : int, optional
        A variable of more bytes is always partitioned, if it can be.

    Raises
    ------
    InvalidInput
        If a bound is below 1.
    """

    name = "partition-bounds"
    reason = "Tiny shards cost more in messages than they balance; past a point more shards balance nothing."
    exact = True

    def __init__(
        self, min_bytes: int = MIN_SHARD_BYTES, max_shards: int = MAX_SHARDS, always_above: int | None = None
    ) -> None:
        for where, value in (("min_bytes", min_bytes), ("max_shards", max_shards), ("always_above", always_above)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidInput("a bound is a whole number of 1 or more", where=where, received=value)
        self.min_bytes = min_bytes
        self.max_shards = max_shards
        self.always_above = always_above

    def holds(self, strategy: Strategy) -> bool:
        return all(
            self._right(variable, Partition(entry.axis, len(entry.shards)))
            for variable, entry in zip(self.model.variables, strategy.variables, strict=True)
        )

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        nbytes = np.asarray([v.nbytes for v in self.model.variables])
        most = np.minimum(self.max_shards, nbytes // self.min_bytes)
        must = np.asarray([self._must_cut(v) for v in self.model.variables])
        cut = batch.shards > 1
        return np.asarray(np.where(cut, batch.shards <= most, ~must).all(axis=1))

    def narrow(self, domain: Domain) -> Domain:
        def change(variable: Variable, left: VariableDomain) -> VariableDomain:
            return replace(left, partitions=tuple(p for p in left.partitions if self._right(variable, p)))

        return domain.each(self.model, change)

    def _right(self, variable: Variable, partition: Partition) -> bool:
        if partition.shards == 1:
            return not self._must_cut(variable)
        return partition.shards <= min(self.max_shards, variable.nbytes // self.min_bytes)

    def _must_cut(self, variable: Variable) -> bool:
        if self.always_above is None or variable.nbytes <= self.always_above:
            return False
        longest = max(variable.shape[: 1 if variable.sparse else None], default=1)
        return min(self.max_shards, variable.nbytes // self.min_bytes, longest) >= 2

    def __repr__(self) -> str:
        bounds = f"min_bytes={self.min_bytes}, max_shards={self.max_shards}, always_above={self.always_above}"
        return f"PartitionBounds({bounds})"
