"""Random valid strategies for tests."""

import numpy as np

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, Synchronizer, VariableStrategy
from autosync_lab.strategy.validate import NARROWED, validate_strategy

MAX_SHARDS = 5
GROUPS = 4


def random_strategy(
    model: ModelSpec, cluster: ClusterSpec, rng: np.random.Generator, *, lossy: bool = False
) -> Strategy:
    """Every aspect at random: partition axis and shards, synchronizer per shard, destination, local replication, group,
    sparse mode, push credit, and with `lossy` the compressor."""
    entries = [_entry(v, cluster, rng, lossy) for v in model.variables]
    strategy = Strategy(tuple(entries), cluster.replicas, push_credit=int(rng.choice([0, 0, 1, 3])))
    validate_strategy(strategy, model, cluster)
    return strategy


def _entry(variable: Variable, cluster: ClusterSpec, rng: np.random.Generator, lossy: bool) -> VariableStrategy:
    axes = [0] if variable.sparse else [a for a, d in enumerate(variable.shape) if d > 1]
    axis = None
    count = 1
    if axes and rng.random() < 0.5 and variable.shape[axes[0]] > 1:
        axis = int(rng.choice(axes))
        count = int(rng.integers(2, min(MAX_SHARDS, variable.shape[axis]) + 1))
    return VariableStrategy(variable.name, tuple(_shard(variable, cluster, rng, lossy) for _ in range(count)), axis)


def _shard(variable: Variable, cluster: ClusterSpec, rng: np.random.Generator, lossy: bool) -> Synchronizer:
    if rng.random() < 0.5:
        node = cluster.nodes[rng.integers(len(cluster.nodes))]
        return ParameterServer(node.name, bool(rng.random() < 0.5))
    sparse_as = "gather" if variable.sparse and rng.random() < 0.5 else "dense"
    rows = variable.sparse and sparse_as == "gather"
    narrowed = lossy and variable.dtype in NARROWED and not rows
    compressor = str(rng.choice(["none", "fp16", "bf16", "fp16-ef"])) if narrowed else "none"
    # One group holds one kind of thing.
    kind = 4 * ["none", "fp16", "bf16", "fp16-ef"].index(compressor) + (2 * GROUPS * 4 if rows else 0)
    group = None if rng.random() < 0.2 else kind * GROUPS + int(rng.integers(GROUPS))
    return AllReduce(group, compressor, sparse_as if variable.sparse else "gather")
