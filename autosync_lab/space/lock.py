"""`Lock`: choices that a user made for one variable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.domain import Domain, VariableDomain
from autosync_lab.strategy.spec import COMPRESSORS, SPARSE_MODES

SYNCHRONIZERS = ("ps", "ar")


@dataclass(frozen=True)
class Lock:
    """A variable's name and what is given for it: any of the choices that `StrategySpace.lock` names."""

    variable: str
    choices: Mapping[str, Any]

    def narrow(self, domain: Domain, model: ModelSpec, cluster: ClusterSpec) -> Domain:
        """The domain in which the choices are made.

        Raises
        ------
        InvalidInput
            Naming the choice that is not left, and the valid ones.
        """
        names = [v.name for v in model.variables]
        if self.variable not in names:
            raise InvalidInput("the model has no such trainable variable", received=self.variable, valid=names)
        v = names.index(self.variable)
        left = domain.variables[v]
        for choice, value in self.choices.items():
            if choice not in _NARROW:
                raise InvalidInput("unknown choice", where=f"lock of {self.variable!r}", received=choice, valid=_NARROW)
            left = _NARROW[choice](left, value, f"lock of {self.variable!r}: {choice}", cluster)
        if model.variables[v].sparse and left.densified == (False,) and 0 not in left.compressors:
            raise InvalidInput("all-gathered rows are not compressed", where=f"lock of {self.variable!r}: compressor")
        variables = (*domain.variables[:v], left, *domain.variables[v + 1 :])
        locked = replace(domain, variables=variables)
        locked.require_choices(model, "the lock")
        return locked


def _axis(left: VariableDomain, value: Any, where: str, _: ClusterSpec) -> VariableDomain:
    kept = tuple(p for p in left.partitions if p.axis == value and type(p.axis) is type(value))
    return replace(left, partitions=_some(kept, where, value, sorted({str(p.axis) for p in left.partitions})))


def _shards(left: VariableDomain, value: Any, where: str, _: ClusterSpec) -> VariableDomain:
    kept = tuple(p for p in left.partitions if p.shards == value and type(value) is int)
    most = max(p.shards for p in left.partitions)
    return replace(left, partitions=_some(kept, where, value, [f"1 to {most}"]))


def _synchronizer(left: VariableDomain, value: Any, where: str, _: ClusterSpec) -> VariableDomain:
    allowed = [k for k, may in zip(SYNCHRONIZERS, (left.parameter_server, left.all_reduce), strict=True) if may]
    _some([k for k in allowed if k == value], where, value, allowed)
    return replace(left, parameter_server=value == "ps", all_reduce=value == "ar")


def _destination(left: VariableDomain, value: Any, where: str, cluster: ClusterSpec) -> VariableDomain:
    names = {i: cluster.nodes[i].name for i in left.destinations}
    kept = tuple(i for i in left.destinations if names[i] == value)
    narrowed = replace(left, destinations=_some(kept, where, value, names.values()))
    return _synchronizer(narrowed, "ps", where, cluster)


def _local_replication(left: VariableDomain, value: Any, where: str, cluster: ClusterSpec) -> VariableDomain:
    kept = tuple(x for x in left.local_replication if x is value)
    narrowed = replace(left, local_replication=_some(kept, where, value, map(str, left.local_replication)))
    return _synchronizer(narrowed, "ps", where, cluster)


def _compressor(left: VariableDomain, value: Any, where: str, cluster: ClusterSpec) -> VariableDomain:
    kept = tuple(c for c in left.compressors if COMPRESSORS[c] == value)
    narrowed = replace(left, compressors=_some(kept, where, value, [COMPRESSORS[c] for c in left.compressors]))
    if value != "none" and True in left.densified:
        narrowed = _sparse_as(narrowed, "dense", where, cluster)
    return _synchronizer(narrowed, "ar", where, cluster)


def _sparse_as(left: VariableDomain, value: Any, where: str, cluster: ClusterSpec) -> VariableDomain:
    kept = tuple(d for d in left.densified if SPARSE_MODES[int(d)] == value)
    narrowed = replace(left, densified=_some(kept, where, value, [SPARSE_MODES[int(d)] for d in left.densified]))
    return _synchronizer(narrowed, "ar", where, cluster)


def _some(kept: Any, where: str, value: Any, valid: Any) -> Any:
    if not kept:
        raise InvalidInput("this choice is not in the space", where=where, received=value, valid=valid)
    return kept


_NARROW: dict[str, Callable[[VariableDomain, Any, str, ClusterSpec], VariableDomain]] = {
    "axis": _axis,
    "shards": _shards,
    "synchronizer": _synchronizer,
    "destination": _destination,
    "local_replication": _local_replication,
    "compressor": _compressor,
    "sparse_as": _sparse_as,
}
