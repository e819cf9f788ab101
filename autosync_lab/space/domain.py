"""`Domain`: which choices a strategy space leaves, as tables that samplers and counters work on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.spec import COMPRESSORS
from autosync_lab.strategy.validate import NARROWED

STALENESS_BOUNDS = (None, 1, 2, 4, 8)
"""Staleness bounds of asynchronous strategies in the space: none, and a few steps."""


class Partition(NamedTuple):
    """One way to cut a variable: `axis` is None and `shards` 1 if it stays whole."""

    axis: int | None
    shards: int


class Settings(NamedTuple):
    """Graph-wide settings."""

    synchronous: bool
    staleness: int | None
    push_credit: int


@dataclass(frozen=True)
class VariableDomain:
    """What is left to choose for one variable.

    Parameters
    ----------
    partitions : tuple of Partition
        By number of shards, then axis.
    parameter_server, all_reduce : bool
        Which synchronizers are left.
    destinations : tuple of int
        Node indices that may own a shard.
    local_replication : tuple of bool
    compressors : tuple of int
        Indices into `COMPRESSORS`, for what travels as a dense gradient.
    densified : tuple of bool
        How an all-reduced sparse variable may travel; (False,) for a dense one, where it means nothing.
    """

    partitions: tuple[Partition, ...]
    parameter_server: bool
    all_reduce: bool
    destinations: tuple[int, ...]
    local_replication: tuple[bool, ...]
    compressors: tuple[int, ...]
    densified: tuple[bool, ...]

    def choices(self) -> dict[str, Sequence[Any]]:
        """Every aspect and what is left of it, for messages and figures."""
        kinds = [k for k, allowed in (("ps", self.parameter_server), ("ar", self.all_reduce)) if allowed]
        return {
            "partition": self.partitions,
            "synchronizer": kinds,
            "destination": self.destinations if self.parameter_server else (),
            "local replication": self.local_replication if self.parameter_server else (),
            "compressor": tuple(COMPRESSORS[c] for c in self.compressors) if self.all_reduce else (),
            "sparse as": tuple("dense" if d else "gather" for d in self.densified) if self.all_reduce else (),
        }


@dataclass(frozen=True)
class Domain:
    """What is left to choose for every variable, and how shards are tied together.

    Parameters
    ----------
    variables : tuple of VariableDomain
    settings : tuple of Settings
    one_synchronizer : bool
        All shards of a variable are on parameter servers, or all are all-reduced.
    greedy_placement : bool
        Destinations follow from the rest: see `autosync_lab.space.placement`.
    balanced_placement : bool
        Only destinations that carry less than their share of the bytes are drawn.
    adjacent_groups : bool
        Groups are contiguous in the order in which gradients are ready, and every all-reduced shard is in one.
    """

    variables: tuple[VariableDomain, ...]
    settings: tuple[Settings, ...]
    one_synchronizer: bool = False
    greedy_placement: bool = False
    balanced_placement: bool = False
    adjacent_groups: bool = False

    def each(self, model: ModelSpec, change: Callable[[Variable, VariableDomain], VariableDomain]) -> "Domain":
        """The domain with every variable's part changed."""
        changed = [change(v, d) for v, d in zip(model.variables, self.variables, strict=True)]
        return replace(self, variables=tuple(changed))

    def require_choices(self, model: ModelSpec, blame: str) -> None:
        """Check that something is left for every variable.

        Raises
        ------
        InvalidInput
            Naming the variable, and `blame` as what took its last choice.
        """
        for variable, domain in zip(model.variables, self.variables, strict=True):
            served = domain.parameter_server and domain.destinations and domain.local_replication
            reduced = domain.all_reduce and domain.densified and (domain.compressors or domain.densified == (False,))
            if not domain.partitions or not (served or reduced):
                raise InvalidInput(f"{blame} leaves no choice", where=f"variable {variable.name!r}")
        if not self.settings:
            raise InvalidInput(f"{blame} leaves no graph-wide settings")


def whole_domain(
    model: ModelSpec,
    cluster: ClusterSpec,
    *,
    lossy: bool,
    asynchronous: bool,
    max_shards: int,
    push_credits: tuple[int, ...],
) -> Domain:
    """Everything that is valid; arguments as `StrategySpace` takes them."""
    nodes = tuple(range(len(cluster.nodes)))

    def of(variable: Variable) -> VariableDomain:
        compressors = tuple(range(len(COMPRESSORS))) if lossy and variable.dtype in NARROWED else (0,)
        return VariableDomain(
            partitions=_partitions(variable, max_shards),
            parameter_server=True,
            all_reduce=True,
            destinations=nodes,
            local_replication=(False, True),
            compressors=compressors,
            densified=(False, True) if variable.sparse else (False,),
        )

    modes: list[tuple[bool, int | None]] = [(True, None)]
    if asynchronous:
        modes += [(False, bound) for bound in STALENESS_BOUNDS]
    settings = tuple(Settings(*mode, credit) for mode in modes for credit in push_credits)
    return Domain(tuple(of(v) for v in model.variables), settings)


def _partitions(variable: Variable, max_shards: int) -> tuple[Partition, ...]:
    axes = range(1 if variable.sparse else len(variable.shape))
    cuts = [Partition(a, k) for a in axes for k in range(2, min(max_shards, variable.shape[a]) + 1)]
    return (Partition(None, 1), *sorted(cuts, key=lambda p: (p.shards, p.axis)))


@dataclass(frozen=True)
class DomainArrays:
    """A domain as arrays.

    Ragged lists come as values and starts: those of variable v are `values[starts[v]:starts[v + 1]]`.
    """

    partition_axis: np.ndarray
    partition_shards: np.ndarray
    partition_start: np.ndarray
    served: np.ndarray
    reduced: np.ndarray
    destinations: np.ndarray
    destination_start: np.ndarray
    replication: np.ndarray
    replication_start: np.ndarray
    compressors: np.ndarray
    compressor_start: np.ndarray
    densified: np.ndarray
    densified_start: np.ndarray
    settings: np.ndarray

    @classmethod
    def of(cls, domain: Domain) -> "DomainArrays":
        """The arrays of a domain; `settings` is int64 [settings, 3]."""
        v = domain.variables
        axes = [[-1 if p.axis is None else p.axis for p in d.partitions] for d in v]
        shards, partition_start = _ragged([[p.shards for p in d.partitions] for d in v])
        destinations, destination_start = _ragged([d.destinations for d in v])
        replication, replication_start = _ragged([d.local_replication for d in v])
        compressors, compressor_start = _ragged([d.compressors for d in v])
        densified, densified_start = _ragged([d.densified for d in v])
        settings = [
            (int(s.synchronous), -1 if s.staleness is None else s.staleness, s.push_credit) for s in domain.settings
        ]
        return cls(
            _ragged(axes)[0],
            shards,
            partition_start,
            np.asarray([d.parameter_server for d in v]),
            np.asarray([d.all_reduce for d in v]),
            destinations,
            destination_start,
            replication,
            replication_start,
            compressors,
            compressor_start,
            densified,
            densified_start,
            np.asarray(settings, np.int64),
        )


def _ragged(lists: Sequence[Sequence[Any]]) -> tuple[np.ndarray, np.ndarray]:
    start = np.cumsum([0, *(len(x) for x in lists)]).astype(np.int64)
    return np.asarray([int(y) for x in lists for y in x], np.int64), start
