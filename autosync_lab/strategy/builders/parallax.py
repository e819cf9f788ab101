"""`parallax`: sparse variables on parameter servers, dense ones all-reduced."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.all_reduce import CHUNK, chunked_groups
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.partitioned_ps import axis_0_shards, place_on_servers
from autosync_lab.strategy.builders.placement import server_nodes
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy


class Parallax(StrategyBuilder):
    """Sparse variables cut on axis 0 over all servers: only their touched rows travel; dense gradients all-reduced."""

    name = "parallax"
    sentence = "Sparse variables on parameter servers, where only touched rows travel; dense gradients all-reduced."
    source = "Parallax (Kim et al., EuroSys 2019); AutoDist's Parallax"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        servers = len(server_nodes(cluster))
        sparse = [v for v in model.variables if v.sparse]
        dense = tuple(v for v in model.variables if not v.sparse)
        entries = place_on_servers(sparse, cluster, [axis_0_shards(v, servers) for v in sparse])
        entries += [
            VariableStrategy(v.name, (AllReduce(g),)) for v, g in zip(dense, chunked_groups(dense, CHUNK), strict=True)
        ]
        by_name = {entry.variable: entry for entry in entries}
        return strategy_of(cluster, [by_name[v.name] for v in model.variables])
