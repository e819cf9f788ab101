"""`uneven-partitioned-ps`: shard counts that do not divide the dimension."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.partitioned_ps import axis_0_shards, place_on_servers
from autosync_lab.strategy.spec import Strategy


class UnevenPartitionedPS(StrategyBuilder):
    """Each variable cut on axis 0 into the smallest number of shards that does not divide its rows; placed by bytes."""

    name = "uneven-partitioned-ps"
    sentence = "Large variables cut on axis 0 into the fewest shards that do not divide their rows evenly."
    source = "AutoDist's UnevenPartitionedPS"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        counts = [_uneven(v) for v in model.variables]
        return strategy_of(cluster, place_on_servers(model.variables, cluster, counts))


def _uneven(variable: Variable) -> int:
    if not variable.shape:
        return 1
    rows = variable.shape[0]
    count = next((k for k in range(2, rows) if rows % k), 1)
    return count if axis_0_shards(variable, count) == count else 1
