"""`byteps`: slices of bounded size over all nodes in the proportion that equalizes their links."""

import numpy as np

from autosync_lab.cluster.bound import server_shares
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.shards import shard_gradient_nbytes
from autosync_lab.strategy.spec import ParameterServer, Strategy, VariableStrategy

SLICES = 32
"""The model is cut into about this many slices: enough for pushes and pulls to overlap, few enough to be cheap."""

MIN_SLICE_BYTES = 64 * 1024
MAX_SHARDS = 40
"""Shards of one variable: the most in AutoSync's space."""

PUSH_CREDIT = 4
"""Slices in flight per replica. With all of them in flight at once all arrive last, and no pull overlaps a push."""


class BytePS(StrategyBuilder):
    """Every variable cut on axis 0 into slices; each slice to the node furthest below its share of the bytes.

    The shares are those at which the busiest link is least busy: for equal links, BytePS's formula for nodes with
    replicas and CPU-only servers; for unequal ones, its generalization in `autosync_lab.cluster.bound`. Slices are
    pushed in the order in which gradients are made, a few in flight at a time.
    """

    name = "byteps"
    sentence = "Slices spread over all nodes, CPU-only ones too, in the proportion that busies every link the same."
    source = "BytePS (Jiang et al., OSDI 2020), section 4; credits: ByteScheduler (Peng et al., SOSP 2019)"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        total = sum(v.gradient_nbytes for v in model.variables)
        slice_nbytes = max(MIN_SLICE_BYTES, total / SLICES)
        targets = np.asarray(server_shares(cluster)) * total
        load = np.zeros(len(targets))
        replicated = any(n.replicas > 1 for n in cluster.nodes)
        shards: dict[str, list[ParameterServer]] = {}
        sizes: list[tuple[float, int, str]] = []
        for order, variable in enumerate(model.variables):
            count = _slices(variable, slice_nbytes)
            blank = VariableStrategy(variable.name, (ParameterServer(""),) * count, 0 if count > 1 else None)
            shards[variable.name] = []
            sizes += [(size, order, variable.name) for size in shard_gradient_nbytes(variable, blank)]
        # Placed one by one in forward order and not by size: slices pushed one after the other go to different nodes.
        for size, _, name in sizes:
            node = int(np.argmax(targets - load))
            load[node] += size
            shards[name].append(ParameterServer(cluster.nodes[node].name, replicated))
        return strategy_of(
            cluster,
            [
                VariableStrategy(v.name, tuple(shards[v.name]), 0 if len(shards[v.name]) > 1 else None)
                for v in model.variables
            ],
            PUSH_CREDIT,
        )


def _slices(variable: Variable, slice_nbytes: float) -> int:
    if not variable.shape:
        return 1
    return max(1, min(MAX_SHARDS, variable.shape[0], round(variable.gradient_nbytes / slice_nbytes)))
