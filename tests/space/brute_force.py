"""Every strategy of a tiny space, one by one: written from the definitions, without the package's own counting."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autosync_lab.cluster import ClusterSpec
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy
from autosync_lab.strategy.spec import COMPRESSORS, Synchronizer

BOUNDS = (None, 1, 2, 4, 8)


def every_strategy(
    model: ModelSpec,
    cluster: ClusterSpec,
    *,
    lossy: bool = False,
    asynchronous: bool = False,
    max_shards: int = 40,
    push_credits: Sequence[int] = (0, 4),
) -> Iterator[Strategy]:
    """Arguments as of `StrategySpace`; groups count from 0 in the order of their first shards."""
    modes = [(True, None), *([(False, bound) for bound in BOUNDS] if asynchronous else [])]
    cuts = [partitions(v, max_shards) for v in model.variables]
    choices = [synchronizers(v, cluster, lossy) for v in model.variables]
    for chosen in itertools.product(*cuts):
        owner = [v for v, (_, count) in enumerate(chosen) for _ in range(count)]
        for flat in itertools.product(*(choices[v] for v in owner)):
            for grouped in groupings(flat, [kind_of(model.variables[v], s) for v, s in zip(owner, flat, strict=True)]):
                entries = tuple(
                    VariableStrategy(
                        variable.name, tuple(s for s, o in zip(grouped, owner, strict=True) if o == v), chosen[v][0]
                    )
                    for v, variable in enumerate(model.variables)
                )
                for (synchronous, staleness), credit in itertools.product(modes, push_credits):
                    yield Strategy(entries, cluster.replicas, synchronous, staleness, credit)


def partitions(variable: Variable, max_shards: int) -> list[tuple[int | None, int]]:
    """Axis and number of shards of every way to cut a variable."""
    axes = [0] if variable.sparse else range(len(variable.shape))
    return [(None, 1), *((a, k) for a in axes for k in range(2, min(max_shards, variable.shape[a]) + 1))]


def synchronizers(variable: Variable, cluster: ClusterSpec, lossy: bool) -> list[Synchronizer]:
    """Every synchronizer of one shard, groups left out."""
    served = [ParameterServer(node.name, together) for node in cluster.nodes for together in (False, True)]
    formats = COMPRESSORS if lossy and variable.dtype in ("float32", "float64") else ("none",)
    reduced = [AllReduce(None, name, "dense" if variable.sparse else "gather") for name in formats]
    return [*served, *reduced, *([AllReduce(None, "none", "gather")] if variable.sparse else [])]


def kind_of(variable: Variable, shard: Synchronizer) -> str | None:
    """What a shard can travel together with; None on a parameter server."""
    if isinstance(shard, ParameterServer):
        return None
    return "rows" if variable.sparse and shard.sparse_as == "gather" else shard.compressor


def groupings(shards: Sequence[Synchronizer], kinds: Sequence[str | None]) -> Iterator[tuple[Synchronizer, ...]]:
    """The shards with their groups, in every way: each is in none, in one of its kind so far, or in a new one."""

    def extend(done: tuple[int | None, ...], opened: tuple[str, ...]) -> Iterator[tuple[int | None, ...]]:
        if len(done) == len(shards):
            yield done
            return
        kind = kinds[len(done)]
        yield from extend((*done, None), opened)
        if kind is not None:
            for group, of_kind in enumerate(opened):
                if of_kind == kind:
                    yield from extend((*done, group), opened)
            yield from extend((*done, len(opened)), (*opened, kind))

    for groups in extend((), ()):
        yield tuple(
            AllReduce(group, s.compressor, s.sparse_as) if isinstance(s, AllReduce) else s
            for s, group in zip(shards, groups, strict=True)
        )


def keeps_lock(entry: VariableStrategy, choices: Mapping[str, Any]) -> bool:
    """Whether a variable's entry is what a lock with these choices asks for."""
    kinds = {"destination": "ps", "local_replication": "ps", "compressor": "ar", "sparse_as": "ar"}
    for choice, value in choices.items():
        if choice == "axis":
            right = entry.axis == value
        elif choice == "shards":
            right = len(entry.shards) == value
        elif choice == "synchronizer":
            right = all(s.kind == value for s in entry.shards)
        else:
            right = all(s.kind == kinds[choice] and getattr(s, choice) == value for s in entry.shards)
        if not right:
            return False
    return True
