"""What the shards of a batch put on servers and collectives.

Shapes: n candidates, V variables, N nodes; S shards and K collectives of all candidates together.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autosync_lab.model.variable import INDEX_BYTES
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.space.arrays import ModelArrays
from autosync_lab.space.batch import ALL_REDUCED, StrategyBatch

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Loads:
    """Bytes of every shard, and which server or collective carries it.

    Shards of one candidate in no group count as one collective: Horovod fuses what is ready.

    Parameters
    ----------
    served : bool [S]
        The shard is on a parameter server.
    rows : bool [S]
        The shard travels as rows: on a server, or gathered.
    nbytes : float64 [S]
        Bytes of one replica's gradient of the shard: of its touched rows where it is sparse.
    push_nbytes : float64 [S]
        Bytes that one replica hands over: with indices where rows travel, dense where they are densified, narrowed
        where it is compressed.
    wide_nbytes : float64 [S]
        The same before it is narrowed.
    pull_nbytes : float64 [S]
        Bytes that one replica gets from a server: its touched rows, or all; 0 for all-reduce.
    server : int64 [S]
        candidate * N + node, of shards on servers; 0 for the others.
    collective : int64 [S]
        Which of the K, of all-reduced shards; 0 for the others. The first one of a candidate is that of its shards in
        no group.
    first_collective : int64 [n + 1]
        Where each candidate's collectives begin, and where the last ones end. Some may be empty.
    """

    served: Booleans
    rows: Booleans
    nbytes: Floats
    push_nbytes: Floats
    wide_nbytes: Floats
    pull_nbytes: Floats
    server: Integers
    collective: Integers
    first_collective: Integers

    @classmethod
    def of(cls, batch: StrategyBatch, cost_model: CostModel) -> "Loads":
        """The loads of a batch."""
        model = ModelArrays.of(batch.model)
        variable, share = batch.variable, batch.share
        served = batch.destination != ALL_REDUCED
        sparse = model.sparse[variable]
        rows = sparse & ~batch.densified
        whole = model.nbytes[variable] * share
        touched = model.touched_rows[variable] * share
        nbytes = np.where(sparse, touched * model.row_nbytes[variable], whole)
        narrow = cost_model.wire_nbytes[batch.compressor] / model.element_nbytes[variable]
        dense = np.where(narrow > 0.0, whole * narrow, whole)
        with_indices = nbytes + touched * INDEX_BYTES
        groups = np.maximum.reduceat(batch.group, batch.start[: -1 : model.sparse.size]) + 1
        first = np.concatenate([[0], np.cumsum(groups + 1)])
        return cls(
            served=served,
            rows=rows,
            nbytes=nbytes,
            push_nbytes=np.where(rows, with_indices, dense),
            wide_nbytes=np.where(rows, with_indices, whole),
            pull_nbytes=np.where(served, nbytes, 0.0),
            server=np.where(served, batch.candidate * len(batch.cluster.nodes) + batch.destination, 0).astype(np.int64),
            collective=np.where(served, 0, first[batch.candidate] + batch.group + 1).astype(np.int64),
            first_collective=first.astype(np.int64),
        )

    def per_server(self, values: npt.NDArray[np.generic], count: int) -> Floats:
        """Sums over the shards of each of `count` servers, [count]."""
        return np.asarray(np.bincount(self.server[self.served], values[self.served], count), float)

    def per_collective(self, values: npt.NDArray[np.generic]) -> Floats:
        """Sums over the shards of each collective, [K]."""
        count = int(self.first_collective[-1])
        return np.asarray(np.bincount(self.collective[~self.served], values[~self.served], count), float)
