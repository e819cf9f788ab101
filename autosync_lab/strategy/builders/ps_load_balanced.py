"""`ps-load-balanced`: whole variables spread over servers by bytes."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.placement import balanced, server_nodes
from autosync_lab.strategy.spec import ParameterServer, Strategy, VariableStrategy


class LoadBalancedPS(StrategyBuilder):
    """Whole variables, largest first, each to the server with the fewest bytes so far."""

    name = "ps-load-balanced"
    sentence = "Whole variables spread over the servers so that each owns about the same bytes."
    source = "AutoDist's PSLoadBalancing; TensorFlow's GreedyLoadBalancingStrategy"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        servers = server_nodes(cluster)
        placed = balanced([v.gradient_nbytes for v in model.variables], len(servers))
        return strategy_of(
            cluster,
            [
                VariableStrategy(v.name, (ParameterServer(servers[s].name),))
                for v, s in zip(model.variables, placed, strict=True)
            ],
        )
