"""`horovod` and `horovod-fp16`: a collective per gradient, fused as Horovod itself decides."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.builders.base import StrategyBuilder, strategy_of
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy
from autosync_lab.strategy.validate import NARROWED


class Horovod(StrategyBuilder):
    """What hvd.DistributedOptimizer does: an all-reduce per gradient (rows: an all-gather), fused as Horovod likes."""

    name = "horovod"
    sentence = "Every gradient all-reduced by itself; Horovod fuses what is ready at the same time."
    source = "Horovod (Sergeev and Del Balso, 2018), defaults"
    compressor = "none"

    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        return strategy_of(cluster, [VariableStrategy(v.name, (self._all_reduce(v),)) for v in model.variables])

    def _all_reduce(self, variable: Variable) -> AllReduce:
        narrowed = variable.dtype in NARROWED and not variable.sparse
        return AllReduce(None, self.compressor if narrowed else "none")


class HorovodFP16(Horovod):
    """The same with Horovod's fp16 compression of dense gradients."""

    name = "horovod-fp16"
    sentence = "As horovod, with dense gradients rounded to 16 bits on the wire."
    source = "Horovod (Sergeev and Del Balso, 2018), hvd.Compression.fp16"
    compressor = "fp16"
    lossless = False
