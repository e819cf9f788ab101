"""`partitioned-ps`: large variables cut into a shard per server."""

from collections.abc import Sequence

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.placement import balanced, server_nodes
from autosync_lab.strategy.shards import shard_gradient_nbytes
from autosync_lab.strategy.spec import ParameterServer, Strategy, VariableStrategy

MIN_SHARD_BYTES = 16 * 1024
"""A shard below this costs more in messages than it balances."""


class PartitionedPS(StrategyBuilder):
    """Each variable cut on axis 0 into as many shards as there are servers, shards then placed by bytes.

    AutoDist cuts into the smallest divisor of the dimension instead, which need not fit the servers; shards here differ
    by at most a row, so any count will do.
    """

    name = "partitioned-ps"
    sentence = "Large variables cut on axis 0 into one shard per server, so that every server carries the same."
    source = "AutoDist's PartitionedPS; TensorFlow's partitioned variables"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        servers = len(server_nodes(cluster))
        counts = [axis_0_shards(v, servers) for v in model.variables]
        return strategy_of(cluster, place_on_servers(model.variables, cluster, counts))


def axis_0_shards(variable: Variable, wanted: int) -> int:
    """As many shards as wanted, if the rows and `MIN_SHARD_BYTES` allow them."""
    if not variable.shape:
        return 1
    return max(1, min(wanted, variable.shape[0], int(variable.nbytes // MIN_SHARD_BYTES)))


def place_on_servers(
    variables: Sequence[Variable], cluster: ClusterSpec, counts: Sequence[int]
) -> list[VariableStrategy]:
    """Cut each variable on axis 0 into its count of shards and place the shards by bytes."""
    servers = server_nodes(cluster)
    nbytes: list[float] = []
    for variable, count in zip(variables, counts, strict=True):
        dummy = (ParameterServer(servers[0].name),) * count
        nbytes += shard_gradient_nbytes(variable, VariableStrategy(variable.name, dummy, 0 if count > 1 else None))
    placed = iter(balanced(nbytes, len(servers)))
    entries = []
    for variable, count in zip(variables, counts, strict=True):
        shards = tuple(ParameterServer(servers[next(placed)].name) for _ in range(count))
        entries.append(VariableStrategy(variable.name, shards, 0 if count > 1 else None))
    return entries
