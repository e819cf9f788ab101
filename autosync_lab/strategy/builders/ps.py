"""`ps`: one parameter server for everything."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.placement import first_server
from autosync_lab.strategy.spec import ParameterServer, Strategy, VariableStrategy


class SinglePS(StrategyBuilder):
    """Every variable on one server: the first CPU-only server, or the chief where there is none."""

    name = "ps"
    sentence = "Every variable on one parameter server."
    source = "Distributed TensorFlow's first design (Abadi et al., OSDI 2016); AutoDist's PS"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        destination = first_server(cluster).name
        return strategy_of(
            cluster, [VariableStrategy(v.name, (ParameterServer(destination),)) for v in model.variables]
        )
