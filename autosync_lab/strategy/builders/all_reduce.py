"""`all-reduce`: gradients all-reduced in groups of consecutive variables."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy

CHUNK = 128
"""Variables per group: AutoDist's default."""


class AllReduceGroups(StrategyBuilder):
    """Variables in forward order, `CHUNK` of them per fused collective; rows of sparse variables are all-gathered."""

    name = "all-reduce"
    sentence = "Every gradient all-reduced, 128 consecutive variables fused into one collective."
    source = "AutoDist's AllReduce (chunk size 128)"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        groups = chunked_groups(model.variables, CHUNK)
        return strategy_of(
            cluster,
            [VariableStrategy(v.name, (AllReduce(g),)) for v, g in zip(model.variables, groups, strict=True)],
        )


def chunked_groups(variables: tuple[Variable, ...], chunk: int) -> list[int]:
    """Group of each variable: consecutive ones together, rows of sparse variables apart from dense gradients."""
    ids: dict[tuple[bool, int], int] = {}
    seen = {True: 0, False: 0}
    groups = []
    for variable in variables:
        key = (variable.sparse, seen[variable.sparse] // chunk)
        seen[variable.sparse] += 1
        groups.append(ids.setdefault(key, len(ids)))
    return groups
