"""`parallax`: sparse variables on parameter servers, dense ones all-reduced."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.all_reduce import CHUNK, chunked_groups
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.partitioned_ps import axis_0_shards, place_on_servers
from autosync_lab.strategy.builders.placement import server_nodes
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy


class Parallax(StrategyBuilder):
    """Sparse variables cut on axis 0 over all servers, so that only touched rows travel; dense gradients all-reduced."""

    name = "parallax"
    sentence = "Sparse variables on parameter servers, where only touched rows travel; dense gradients all-reduced."
    source = "Parallax (Kim et al., EuroSys 2019); AutoDist's Parallax"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        servers = len(server_nodes(cluster))
        counts = [axis_0_shards(v, servers) if v.sparse else 1 for v in model.variables]
        on_servers = place_on_servers(model, cluster, counts)
        groups = chunked_groups(model.variables, CHUNK)
        return strategy_of(
            cluster,
            [
                entry if variable.sparse else VariableStrategy(variable.name, (AllReduce(group),))
                for variable, entry, group in zip(model.variables, on_servers.variables, groups, strict=True)
            ],
        )
