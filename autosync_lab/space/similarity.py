"""How alike two encoded strategies are."""

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import ALL_REDUCED, StrategyBatch


class Likeness:
    """Similarity of the strategies of a batch: the share of decisions that two of them have in common, from 0 to 1.

    The decisions of a variable are its partition, its synchronizers with their formats, and where its shards go
    (destinations, or groups). Variables count by the square root of their bytes: by bytes alone one table would decide.
    """

    def __init__(self, batch: StrategyBatch) -> None:
        count = len(batch.model.variables)
        weight = np.sqrt(np.asarray([v.gradient_nbytes for v in batch.model.variables]))
        self._weight = np.repeat(weight / weight.sum() / 3, 3)
        first = batch.start[:-1]
        served = batch.destination != ALL_REDUCED
        how = served * 64 + batch.local_replication * 32 + batch.compressor * 2 + batch.densified
        where = np.where(served, batch.destination, batch.group + (1 << 15)).astype(np.int64)
        position = np.arange(len(where)) - np.repeat(first, batch.shards.ravel())
        scrambled = (where + 1) * (2 * position + 1)
        decisions = np.stack(
            [
                (batch.axis.astype(np.int64) + 1) * 65536 + batch.shards,
                np.add.reduceat((how.astype(np.int64) + 1) * (2 * position + 1), first).reshape(-1, count),
                np.add.reduceat(scrambled, first).reshape(-1, count),
            ],
            axis=-1,
        )
        self._decisions = decisions.reshape(len(batch), -1).astype(np.int32)

    def to(self, i: int) -> npt.NDArray[np.float64]:
        """Similarity of every strategy to strategy `i`, [n]."""
        return np.asarray((self._decisions == self._decisions[i]) @ self._weight)
