"""Whether encoded strategies are in a domain."""

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import ALL_REDUCED, UNBOUNDED, StrategyBatch
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import COMPRESSORS


def contains(domain: Domain, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
    """Which candidates choose only what the domain leaves, bool [n]; rules on placement and groups are left aside."""
    variables = len(domain.variables)
    most = 1 + max(p.shards for d in domain.variables for p in d.partitions)
    axes = 2 + max((p.axis for d in domain.variables for p in d.partitions if p.axis is not None), default=0)
    partitions = np.zeros((variables, axes, most), np.bool_)
    destinations = np.zeros((variables, len(batch.cluster.nodes)), np.bool_)
    replication = np.zeros((variables, 2), np.bool_)
    dense = np.zeros((variables, len(COMPRESSORS)), np.bool_)
    gathered = np.zeros(variables, np.bool_)
    sparse = np.asarray([v.sparse for v in batch.model.variables])
    for v, left in enumerate(domain.variables):
        for partition in left.partitions:
            partitions[v, -1 if partition.axis is None else partition.axis, partition.shards] = True
        if left.parameter_server:
            destinations[v, list(left.destinations)] = True
            replication[v, [int(x) for x in left.local_replication]] = True
        if left.all_reduce:
            dense[v, list(left.compressors)] = not sparse[v] or True in left.densified
            gathered[v] = sparse[v] and False in left.densified
    settings = {
        (s.synchronous, UNBOUNDED if s.staleness is None else s.staleness, s.push_credit) for s in domain.settings
    }
    right = np.asarray(
        [
            (bool(s), int(b), int(c)) in settings
            for s, b, c in zip(batch.synchronous, batch.staleness, batch.push_credit, strict=True)
        ],
        np.bool_,
    )
    known = (batch.shards < most) & (batch.axis < axes - 1)
    cut = partitions[np.arange(variables), np.where(known, batch.axis, 0), np.where(known, batch.shards, 0)]
    right &= (known & cut).all(axis=1)
    of, served = batch.variable, batch.destination != ALL_REDUCED
    node = np.where(served, batch.destination, 0)
    placed = destinations[of, node] & replication[of, batch.local_replication.astype(int)]
    as_rows = sparse[of] & ~batch.densified
    reduced = np.where(as_rows, gathered[of], dense[of, batch.compressor])
    wrong = np.bincount(batch.candidate[~np.where(served, placed, reduced)], minlength=len(batch))
    return np.asarray(right & (wrong == 0))
