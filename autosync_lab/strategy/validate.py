"""Which strategies are valid for a model on a cluster."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidStrategy
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy

NARROWED = ("float32", "float64")
"""Dtypes that a 16-bit wire format narrows."""


def validate_strategy(strategy: Strategy, model: ModelSpec, cluster: ClusterSpec) -> None:
    """Check a strategy.

    - Its entries are the model's trainable variables, each once, in their order.
    - Its replicas are the cluster's.
    - A partition axis exists, a sparse variable's is 0, and no shard is empty.
    - A destination is a node of the cluster.
    - A compressor narrows the variable's dtype; all-gathered rows are not compressed.
    - All shards of one group have one compressor, and travel one way (rows or dense).

    Raises
    ------
    InvalidStrategy
        Naming the variable, the rule, the value received and, where there is a list of them, the valid ones.
    """
    if strategy.replicas != cluster.replicas:
        raise InvalidStrategy(
            f"the cluster {cluster.name!r} has {cluster.replicas} replicas",
            where="replicas",
            received=strategy.replicas,
        )
    names = [v.name for v in model.variables]
    entries = [e.variable for e in strategy.variables]
    if entries != names:
        _explain_names(entries, names)
    nodes = {n.name for n in cluster.nodes}
    groups: dict[int, tuple[str, str]] = {}
    for variable, entry in zip(model.variables, strategy.variables, strict=True):
        _check_partition(variable, entry)
        for shard in entry.shards:
            if isinstance(shard, ParameterServer):
                if shard.destination not in nodes:
                    raise InvalidStrategy(
                        f"a destination is a node of the cluster {cluster.name!r}",
                        where=f"variable {variable.name!r}",
                        received=shard.destination,
                        valid=[n.name for n in cluster.nodes],
                    )
            else:
                _check_all_reduce(variable, shard, groups)


def _explain_names(entries: list[str], names: list[str]) -> None:
    known = set(names)
    for entry in entries:
        if entry not in known:
            raise InvalidStrategy("the model has no such trainable variable", received=entry, valid=names)
    missing = [n for n in names if n not in set(entries)]
    if missing:
        raise InvalidStrategy("every trainable variable has an entry", where=f"variable {missing[0]!r}")
    wrong = next(e for e, n in zip(entries, names, strict=True) if e != n)
    raise InvalidStrategy("entries come in the model's forward order", where=f"variable {wrong!r}")


def _check_partition(variable: Variable, entry: VariableStrategy) -> None:
    if entry.axis is None:
        return
    where = f"variable {variable.name!r}"
    if entry.axis >= len(variable.shape):
        raise InvalidStrategy(
            f"a variable of shape {list(variable.shape)} has no such partition axis",
            where=where,
            received=entry.axis,
            valid=[str(a) for a in range(len(variable.shape))],
        )
    if variable.sparse and entry.axis != 0:
        raise InvalidStrategy(
            "a sparse variable's gradient is rows, so it is partitioned on axis 0 only",
            where=where,
            received=entry.axis,
            valid=("0",),
        )
    if len(entry.shards) > variable.shape[entry.axis]:
        raise InvalidStrategy(
            f"axis {entry.axis} has {variable.shape[entry.axis]} rows, so at most that many shards",
            where=where,
            received=len(entry.shards),
        )


def _check_all_reduce(variable: Variable, shard: AllReduce, groups: dict[int, tuple[str, str]]) -> None:
    where = f"variable {variable.name!r}"
    rows = variable.sparse and shard.sparse_as == "gather"
    if shard.compressor != "none":
        if rows:
            raise InvalidStrategy(
                "all-gathered rows are not compressed; use compressor 'none' or sparse_as 'dense'",
                where=where,
                received=shard.compressor,
            )
        if variable.dtype not in NARROWED:
            raise InvalidStrategy(
                f"the compressor does not narrow a variable of dtype {variable.dtype}",
                where=where,
                received=shard.compressor,
                valid=("none",),
            )
    if shard.group is None:
        return
    kind = (shard.compressor, "rows" if rows else "dense gradients")
    if groups.setdefault(shard.group, kind) != kind:
        first = groups[shard.group]
        raise InvalidStrategy(
            f"group {shard.group} carries {first[1]} with compressor {first[0]!r}; all its shards do",
            where=where,
            received=f"{kind[1]} with compressor {kind[0]!r}",
        )
