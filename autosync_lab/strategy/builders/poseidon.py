"""`poseidon`: each variable by itself, whichever way needs its busiest link for the shorter time."""

from functools import partial

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.horovod import Horovod
from autosync_lab.strategy.builders.partitioned_ps import PartitionedPS
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.traffic import variable_link_time_s


class Poseidon(StrategyBuilder):
    """Each variable as `horovod` or as `partitioned-ps` has it, by link time; `horovod`'s way where both need the same.

    Poseidon chooses per layer between sharded parameter servers and the broadcast of sufficient factors. An engine of
    gradients has no sufficient factors: collectives take their place.
    """

    name = "poseidon"
    sentence = (
        "Each variable on sharded parameter servers or by a collective, whichever busies its links for less time."
    )
    source = "Poseidon (Zhang et al., USENIX ATC 2017), hybrid communication, with collectives for sufficient factors"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        ways = (Horovod().build(model, cluster), PartitionedPS().build(model, cluster))
        entries = [
            min(either, key=partial(variable_link_time_s, variable, cluster))
            for variable, *either in zip(model.variables, *(way.variables for way in ways), strict=True)
        ]
        return strategy_of(cluster, entries)
