"""What one variable may choose, aspect by aspect, and what pruned the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.space.domain import Domain, VariableDomain
from autosync_lab.space.space import StrategySpace
from autosync_lab.strategy.spec import COMPRESSORS, SPARSE_MODES
from autosync_widgets.figures.space_stages import Stages, space_stages

ASPECTS = {
    "partition": "Into how many shards the variable is cut, and on which axis.",
    "synchronizer": "Whether shards are on parameter servers or all-reduced, or some are this and some that.",
    "destination": "The node whose server owns a shard.",
    "local replication": "Whether a server's shard is first summed inside each node.",
    "group": "Which other shards an all-reduced shard is fused with.",
    "compressor": "What an all-reduced gradient is encoded with on the wire.",
    "sparse as": "How an all-reduce carries rows: gathered, or as the whole table.",
}
"""Columns of the grid, and what they mean."""

GROUPINGS = ("in no group", "a group of its own", "with neighbours in ready order", "with any others")
"""What an all-reduced shard may do about groups."""

Choices = dict[str, dict[str, Any]]
"""What may be chosen: by its text, what `StrategySpace.lock` takes for it (empty if that cannot be locked)."""


@dataclass(frozen=True)
class Choice:
    """One choice.

    Parameters
    ----------
    text : str
    pruned_by : str
        What took it: a constraint, a lock; empty if it is left.
    lock : tuple of (str, value)
        What `StrategySpace.lock` takes for it; empty if it cannot be locked.
    locked : bool
        True if the user locked it.
    """

    text: str
    pruned_by: str = ""
    lock: tuple[tuple[str, Any], ...] = ()
    locked: bool = False


@dataclass(frozen=True)
class AspectChoices:
    """All choices of one aspect that are valid.

    `reasons` has, by what pruned some of them, why. `note` is what decides among those that are left.
    """

    aspect: str
    choices: tuple[Choice, ...]
    reasons: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class VariableChoices:
    """One variable, and all its aspects that apply."""

    variable: Variable
    aspects: tuple[AspectChoices, ...]


def variable_choices(space: StrategySpace, variable: int, stages: Stages | None = None) -> VariableChoices:
    """The choices of the variable at an index of the model's forward order.

    Parameters
    ----------
    space : StrategySpace
    variable : int
    stages : Stages, optional
        Of the space, if they are known already.
    """
    stages = stages or space_stages(space)
    it = space.model.variables[variable]
    locks: Mapping[str, Any] = next((x.choices for x in space.locks if x.variable == it.name), {})
    aspects = []
    for aspect, choices_of in _CHOICES.items():
        valid = choices_of(space.model, space.cluster, stages.valid, variable)
        if not valid or (aspect == "sparse as" and not it.sparse):
            continue
        left = [choices_of(space.model, space.cluster, s.domain, variable) for s in stages.steps]
        pruned = {
            text: next((s.name for s, some in zip(stages.steps, left, strict=True) if text not in some), "")
            for text in valid
        }
        choices = tuple(
            Choice(text, pruned[text], tuple(lock.items()), bool(lock) and lock.items() <= locks.items())
            for text, lock in valid.items()
        )
        takers = set(pruned.values())
        reasons = tuple((s.name, s.reason) for s in stages.steps if s.name in takers)
        aspects.append(AspectChoices(aspect, choices, reasons, _note(aspect, stages.left) if "" in takers else ""))
    return VariableChoices(it, tuple(aspects))


def _partitions(_: ModelSpec, __: ClusterSpec, domain: Domain, v: int) -> Choices:
    return {
        "whole" if p.axis is None else f"{p.shards} on axis {p.axis}": {"axis": p.axis, "shards": p.shards}
        for p in sorted(domain.variables[v].partitions, key=lambda p: (-1 if p.axis is None else p.axis, p.shards))
    }


def _synchronizers(_: ModelSpec, __: ClusterSpec, domain: Domain, v: int) -> Choices:
    left = domain.variables[v]
    choices: Choices = {}
    if left.parameter_server:
        choices["parameter server"] = {"synchronizer": "ps"}
    if left.all_reduce:
        choices["all-reduce"] = {"synchronizer": "ar"}
    if may_mix(domain, left):
        choices["both, by shard"] = {}
    return choices


def may_mix(domain: Domain, left: VariableDomain) -> bool:
    """True if some shards of a variable may be on servers and others all-reduced."""
    cut = any(p.shards > 1 for p in left.partitions)
    return left.parameter_server and left.all_reduce and cut and not domain.one_synchronizer


def _destinations(_: ModelSpec, cluster: ClusterSpec, domain: Domain, v: int) -> Choices:
    left = domain.variables[v]
    nodes = left.destinations if left.parameter_server else ()
    return {cluster.nodes[i].name: {"destination": cluster.nodes[i].name} for i in nodes}


def _replications(_: ModelSpec, __: ClusterSpec, domain: Domain, v: int) -> Choices:
    left = domain.variables[v]
    return {
        "summed in each node" if yes else "every replica for itself": {"local_replication": yes}
        for yes in (left.local_replication if left.parameter_server else ())
    }


def _groupings(model: ModelSpec, _: ClusterSpec, domain: Domain, v: int) -> Choices:
    if not domain.variables[v].all_reduce:
        return {}
    return {text: {} for text in groupings(domain, mergeable_shards(model, domain)[v])}


def mergeable_shards(model: ModelSpec, domain: Domain) -> list[int]:
    """For each variable, how many shards at most may be all-reduced as its own may: as rows, or as dense gradients."""
    as_rows = [d.all_reduce and v.sparse and False in d.densified for v, d in _pairs(model, domain)]
    as_dense = [d.all_reduce and (not v.sparse or True in d.densified) for v, d in _pairs(model, domain)]
    most = [max(p.shards for p in d.partitions) for d in domain.variables]
    rows = sum(m for m, may in zip(most, as_rows, strict=True) if may)
    dense = sum(m for m, may in zip(most, as_dense, strict=True) if may)
    return [max(rows * r, dense * d) for r, d in zip(as_rows, as_dense, strict=True)]


def _pairs(model: ModelSpec, domain: Domain) -> list[tuple[Variable, VariableDomain]]:
    return list(zip(model.variables, domain.variables, strict=True))


def groupings(domain: Domain, shards: int) -> tuple[str, ...]:
    """Which of `GROUPINGS` an all-reduced shard has, where `shards` may travel as it does."""
    ungrouped, alone, neighbours, others = GROUPINGS
    free = not domain.adjacent_groups
    possible = {ungrouped: free, alone: True, neighbours: shards > 1, others: shards > 2 and free}
    return tuple(text for text, may in possible.items() if may)


def _compressors(model: ModelSpec, _: ClusterSpec, domain: Domain, v: int) -> Choices:
    left = domain.variables[v]
    if not left.all_reduce:
        return {}
    # All-gathered rows are not compressed.
    codes = left.compressors if not model.variables[v].sparse or True in left.densified else (0,)
    return {COMPRESSORS[c]: {"compressor": COMPRESSORS[c]} for c in codes}


def _sparse_modes(_: ModelSpec, __: ClusterSpec, domain: Domain, v: int) -> Choices:
    left = domain.variables[v]
    texts = ("rows gathered", "whole table")
    return {texts[d]: {"sparse_as": SPARSE_MODES[d]} for d in (left.densified if left.all_reduce else ())}


_CHOICES: dict[str, Callable[[ModelSpec, ClusterSpec, Domain, int], Choices]] = {
    "partition": _partitions,
    "synchronizer": _synchronizers,
    "destination": _destinations,
    "local replication": _replications,
    "group": _groupings,
    "compressor": _compressors,
    "sparse as": _sparse_modes,
}


def _note(aspect: str, left: Domain) -> str:
    if aspect == "destination" and left.greedy_placement:
        return (
            "load-balance chooses for each shard: the node furthest below its share of the bytes. A lock overrules it."
        )
    if aspect == "destination" and left.balanced_placement:
        return "load-balance-softmax leaves nodes that are below their share of the bytes."
    return ""
