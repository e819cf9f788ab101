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
        decisions = np.stack(
            [
                (batch.axis.astype(np.int64) + 1) * 65536 + batch.shards,
                np.add.reduceat(_scrambled(how, position), first).reshape(-1, count),
                np.add.reduceat(_scrambled(where, position), first).reshape(-1, count),
            ],
            axis=-1,
        )
        self._decisions = decisions.reshape(len(batch), -1).astype(np.int32)

    def to(self, i: int) -> npt.NDArray[np.float64]:
        """Similarity of every strategy to strategy `i`, [n]."""
        return np.asarray((self._decisions == self._decisions[i]) @ self._weight)


def _scrambled(value: npt.NDArray[np.generic], position: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Numbers whose sum over a variable's shards says, but for accidents, which value is at which position."""
    # The mixing steps of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
    z = value.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + position.astype(np.uint64) * np.uint64(
        0xD1342543DE82EF95
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31))).astype(np.int64)
