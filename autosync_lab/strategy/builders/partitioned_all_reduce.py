"""`partitioned-all-reduce`: large variables cut, their shards all-reduced in groups of equal bytes."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.builders.partitioned_ps import axis_0_shards
from autosync_lab.strategy.shards import shard_gradient_nbytes
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy

SHARDS = 4
GROUPS = 4


class PartitionedAllReduce(StrategyBuilder):
    """Large variables cut on axis 0 into `SHARDS`, the shards walked in forward order into `GROUPS` groups of about
    equal bytes, so that early groups travel while later gradients are still being computed."""

    name = "partitioned-all-reduce"
    sentence = "Large variables cut into 4 shards, which travel in 4 groups of about equal bytes."
    source = "AutoDist's PartitionedAR, with AutoSync's ordered, balanced groups"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        counts = [1 if v.sparse else axis_0_shards(v, SHARDS) for v in model.variables]
        shapes = [
            VariableStrategy(v.name, (AllReduce(),) * k, 0 if k > 1 else None)
            for v, k in zip(model.variables, counts, strict=True)
        ]
        nbytes = [shard_gradient_nbytes(v, e) for v, e in zip(model.variables, shapes, strict=True)]
        total = sum(sum(b) for v, b in zip(model.variables, nbytes, strict=True) if not v.sparse)
        entries = []
        before = 0.0
        for variable, entry, sizes in zip(model.variables, shapes, nbytes, strict=True):
            if variable.sparse:
                entries.append(VariableStrategy(variable.name, (AllReduce(GROUPS),)))
                continue
            shards = []
            for size in sizes:
                # The group in which the shard's middle byte falls.
                shards.append(AllReduce(min(GROUPS - 1, int((before + size / 2) * GROUPS / total))))
                before += size
            entries.append(VariableStrategy(variable.name, tuple(shards), entry.axis))
        return strategy_of(cluster, entries)
