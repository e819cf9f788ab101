"""Raw features: what a strategy says about each shard, without a word on what it costs.

All are about 0 to 1 and free of any scale (shares of the model's bytes, of the cluster's bandwidth), so that one
simulator serves many models and clusters. Shapes as in `loads`.
"""

import numpy as np
import numpy.typing as npt

from autosync_lab.simulator.cost_model import UNLIMITED_BYTES_PER_S
from autosync_lab.simulator.features.loads import Loads
from autosync_lab.space.arrays import ClusterArrays, ModelArrays
from autosync_lab.space.batch import UNGROUPED, StrategyBatch
from autosync_lab.strategy.spec import COMPRESSORS

RAW_FEATURES = (
    "on a server",
    "all-reduced in a group",
    "all-reduced in no group",
    "travels as rows",
    "densified",
    *(f"compressed: {name}" for name in COMPRESSORS[1:]),
    "share of bytes",
    "share of bytes, log",
    "owner's uplink",
    "owner's downlink",
    "owner has replicas",
    "owner's load",
    "pushed once per node",
    "push credit",
    "share of bytes in the group",
    "tensors in the group, log",
    "last of the group, position",
    "shards of the variable, log",
    "partitioned along axis 0",
    "position of the variable",
    "gradient is ready",
)
"""Names of the features, in order."""

SMALLEST_SHARE = 1e-6
"""Smaller shares of a model's bytes are alike."""


def raw_features(batch: StrategyBatch, loads: Loads) -> npt.NDArray[np.float32]:
    """Features of every shard, float32 [S, len(RAW_FEATURES)].

    Source: what the authors' simulator reads of each shard (Zhang et al., NeurIPS 2020, supplement): its synchronizer's
    type, destination, group and compressor, its size and its destination's bandwidth; made free of scale.
    """
    model, nodes = ModelArrays.of(batch.model), ClusterArrays.of(batch.cluster)
    variables, count = model.sparse.size, len(nodes.up)
    variable, candidate = batch.variable, batch.candidate
    owner = np.where(loads.served, batch.destination, 0)
    grouped = ~loads.served & (batch.group != UNGROUPED)
    total = np.bincount(candidate, loads.nbytes, len(batch))
    share = loads.nbytes / total[candidate]
    up, down = (np.minimum(rate, UNLIMITED_BYTES_PER_S) for rate in (nodes.up, nodes.down))
    slower = np.minimum(up, down)
    owned = loads.per_server(share, len(batch) * count)
    position = np.empty(variables)
    position[model.ready_order] = np.arange(variables) / max(1, variables - 1)
    collectives = int(loads.first_collective[-1])
    last = np.zeros(collectives)
    np.maximum.at(last, loads.collective[grouped], position[variable[grouped]])
    in_group = loads.per_collective(share)
    tensors = np.log1p(loads.per_collective(np.ones(len(share)))) / np.log1p(variables)
    credit = 1.0 / np.maximum(1, batch.push_credit)
    columns = [
        loads.served,
        grouped,
        ~loads.served & ~grouped,
        loads.rows,
        batch.densified,
        *(batch.compressor == code for code in range(1, len(COMPRESSORS))),
        share,
        np.log(np.maximum(share, SMALLEST_SHARE)) / -np.log(SMALLEST_SHARE) + 1.0,
        loads.served * (np.minimum(up / up.mean(), 4.0) / 4.0)[owner],
        loads.served * (np.minimum(down / down.mean(), 4.0) / 4.0)[owner],
        loads.served * (nodes.replicas > 0)[owner],
        # 1 where the slower way of an average link carries all bytes of the model.
        loads.served * np.minimum(owned[loads.server] * (slower.mean() / slower)[owner], 4.0),
        batch.local_replication,
        loads.served * np.where(batch.push_credit > 0, credit, 0.0)[candidate],
        grouped * in_group[loads.collective],
        grouped * tensors[loads.collective],
        grouped * last[loads.collective],
        np.repeat(np.log2(batch.shards.ravel()) / 5.0, batch.shards.ravel()),
        np.repeat(batch.axis.ravel() == 0, batch.shards.ravel()),
        position[variable],
        model.ready[variable],
    ]
    # Feature by feature in memory: they are written, and summed over shards, one by one.
    features = np.empty((len(columns), len(share)), np.float32)
    for at, column in enumerate(columns):
        features[at] = column
    return features.T
