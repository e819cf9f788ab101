"""Hand-made strategies: the baselines. One file each; every one names its source."""

from pathlib import Path

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidStrategy
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.builders.all_reduce import AllReduceGroups
from autosync_lab.strategy.builders.base import StrategyBuilder as StrategyBuilder
from autosync_lab.strategy.builders.byteps import BytePS
from autosync_lab.strategy.builders.horovod import Horovod, HorovodFP16
from autosync_lab.strategy.builders.parallax import Parallax
from autosync_lab.strategy.builders.partitioned_all_reduce import PartitionedAllReduce
from autosync_lab.strategy.builders.partitioned_ps import PartitionedPS
from autosync_lab.strategy.builders.poseidon import Poseidon
from autosync_lab.strategy.builders.ps import SinglePS
from autosync_lab.strategy.builders.ps_load_balanced import LoadBalancedPS
from autosync_lab.strategy.builders.uneven_partitioned_ps import UnevenPartitionedPS
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.strategy_file import read_strategy
from autosync_lab.strategy.validate import validate_strategy
from autosync_lab.user_file import is_file_name

BUILDERS: dict[str, StrategyBuilder] = {
    builder.name: builder
    for builder in (
        SinglePS(),
        LoadBalancedPS(),
        PartitionedPS(),
        UnevenPartitionedPS(),
        AllReduceGroups(),
        PartitionedAllReduce(),
        Horovod(),
        HorovodFP16(),
        Parallax(),
        BytePS(),
        Poseidon(),
    )
}


def builder_names() -> tuple[str, ...]:
    """Names of the builders."""
    return tuple(BUILDERS)


def builder_card(name: str) -> StrategyBuilder:
    """The builder called `name`: its title, source, sentence, and whether it is lossless."""
    if name not in BUILDERS:
        raise InvalidStrategy("unknown builder", received=name, valid=builder_names())
    return BUILDERS[name]


def build_strategy(name: str | Path, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
    """Build a hand-made strategy, or read one from a file.

    Parameters
    ----------
    name : str or Path
        One of `builder_names()`, or the path of a strategy file: JSON, or AutoDist's.

    Returns
    -------
    Strategy
        Valid for the model and the cluster.

    Raises
    ------
    InvalidStrategy
        If there is neither a builder nor a file of that name, or the file's strategy is not valid here.
    """
    if isinstance(name, str) and name in BUILDERS:
        strategy = BUILDERS[name].build(model, cluster)
    else:
        strategy = _read(name)
    validate_strategy(strategy, model, cluster)
    return strategy


def _read(name: str | Path) -> Strategy:
    where = str(name)
    if not (isinstance(name, Path) or is_file_name(where, (".json",))):
        raise InvalidStrategy("no builder and no file has this name", received=where, valid=builder_names())
    return read_strategy(Path(name))
