"""`StrategyBatch`: many strategies of one model and cluster as a struct of arrays.

Shapes: n candidates, V variables, S shards of all candidates together. The shards of candidate c and variable v are
`start[c * V + v]` to `start[c * V + v + 1]` of every array of shape [S].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput, InvalidStrategy
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.canonical import canonical_groups, hashes
from autosync_lab.strategy.spec import (
    COMPRESSORS,
    SPARSE_MODES,
    AllReduce,
    ParameterServer,
    Strategy,
    Synchronizer,
    VariableStrategy,
)
from autosync_lab.strategy.validate import validate_strategy

ALL_REDUCED = -1
"""In `destination`: the shard is all-reduced."""

MOST_SHARDS = 2**15 - 1
"""Shards of one variable that a batch can hold."""

MOST_CREDIT = 2**31 - 1
"""Push credit that a batch can hold."""

UNGROUPED = -1
"""In `group`: the shard is in no group."""

UNBOUNDED = -1
"""In `staleness`: there is no bound."""

WHOLE = -1
"""In `axis`: the variable is not partitioned."""


@dataclass(frozen=True)
class StrategyBatch:
    """Strategies of one model and cluster, encoded.

    Group ids count from 0 in the order in which groups first appear, so equal strategies have equal arrays.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    synchronous : bool [n]
    staleness : int16 [n]
        `UNBOUNDED` for none.
    push_credit : int32 [n]
    axis : int8 [n, V]
        `WHOLE` for a variable that is not partitioned.
    shards : int16 [n, V]
        Number of shards of each variable.
    start : int64 [n * V + 1]
        Where the shards of each candidate and variable start.
    destination : int16 [S]
        Node index of a shard's parameter server; `ALL_REDUCED` for all-reduce.
    local_replication : bool [S]
        False for all-reduce.
    group : int32 [S]
        `UNGROUPED` for none, and for parameter servers.
    compressor : int8 [S]
        Index into `COMPRESSORS`; 0 for parameter servers.
    densified : bool [S]
        True for an all-reduced sparse shard that travels as a dense gradient.
    """

    model: ModelSpec
    cluster: ClusterSpec
    synchronous: npt.NDArray[np.bool_]
    staleness: npt.NDArray[np.int16]
    push_credit: npt.NDArray[np.int32]
    axis: npt.NDArray[np.int8]
    shards: npt.NDArray[np.int16]
    start: npt.NDArray[np.int64]
    destination: npt.NDArray[np.int16]
    local_replication: npt.NDArray[np.bool_]
    group: npt.NDArray[np.int32]
    compressor: npt.NDArray[np.int8]
    densified: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.synchronous)

    def __iter__(self) -> Iterator[Strategy]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Strategy: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[np.generic]) -> "StrategyBatch": ...

    def __getitem__(self, index: int | slice | Sequence[int] | npt.NDArray[np.generic]) -> "Strategy | StrategyBatch":
        """One strategy (an index), or a batch of several (a slice, a list of indices, a mask)."""
        if isinstance(index, int | np.integer):
            return self._decode(range(len(self))[index])
        return self._take(np.arange(len(self))[index])

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(value.nbytes for value in self._arrays().values())

    @cached_property
    def variable(self) -> npt.NDArray[np.int32]:
        """Variable of each shard, [S]."""
        count = self.shards.shape[1]
        return np.repeat(np.tile(np.arange(count, dtype=np.int32), len(self)), self.shards.ravel())

    @cached_property
    def candidate(self) -> npt.NDArray[np.int32]:
        """Candidate of each shard, [S]."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.shards.sum(axis=1, dtype=np.int64))

    @cached_property
    def share(self) -> npt.NDArray[np.float64]:
        """The part of its variable that each shard is, [S]: the first shards are one row longer."""
        dims = np.ones((len(self.model.variables), 128), np.int64)
        for v, variable in enumerate(self.model.variables):
            dims[v, : len(variable.shape)] = variable.shape
        rows = np.take_along_axis(dims[None], np.maximum(self.axis, 0)[..., None].astype(np.int64), axis=2)[..., 0]
        per_variable = self.shards.ravel()
        of_shard = np.repeat(rows.ravel(), per_variable)
        count = np.repeat(per_variable.astype(np.int64), per_variable)
        index = np.arange(len(self.destination)) - np.repeat(self.start[:-1], per_variable)
        length = of_shard // count + (index < of_shard % count)
        whole = np.repeat(self.axis.ravel() == WHOLE, per_variable)
        return np.where(whole, 1.0, length / of_shard)

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """Content hash of each candidate, [n]; equal strategies have equal ones, in every process."""
        return hashes(
            self.synchronous,
            self.staleness,
            self.push_credit,
            self.axis,
            self.start,
            self.destination,
            self.local_replication,
            self.group,
            self.compressor,
            self.densified,
        )

    @classmethod
    def encode(cls, strategies: Sequence[Strategy], model: ModelSpec, cluster: ClusterSpec) -> "StrategyBatch":
        """Encode strategies.

        Raises
        ------
        InvalidStrategy
            If one is not valid for the model and the cluster, or has more shards or credit than a batch can hold.
        """
        nodes = {node.name: i for i, node in enumerate(cluster.nodes)}
        count = len(model.variables)
        axis = np.full((len(strategies), count), WHOLE, np.int8)
        shards = np.ones((len(strategies), count), np.int16)
        flat: list[tuple[int, bool, int, int, bool]] = []
        for c, strategy in enumerate(strategies):
            validate_strategy(strategy, model, cluster)
            _check_fits(strategy)
            groups: dict[int, int] = {}
            for v, (variable, entry) in enumerate(zip(model.variables, strategy.variables, strict=True)):
                axis[c, v] = WHOLE if entry.axis is None else entry.axis
                shards[c, v] = len(entry.shards)
                flat += [_encode_shard(s, nodes, variable.sparse, groups) for s in entry.shards]
        columns = [*zip(*flat, strict=True)] if flat else [()] * 5
        return cls(
            model,
            cluster,
            np.asarray([s.synchronous for s in strategies], np.bool_),
            np.asarray([UNBOUNDED if s.staleness is None else s.staleness for s in strategies], np.int16),
            np.asarray([s.push_credit for s in strategies], np.int32),
            axis,
            shards,
            starts(shards),
            np.asarray(columns[0], np.int16),
            np.asarray(columns[1], np.bool_),
            np.asarray(columns[2], np.int32),
            np.asarray(columns[3], np.int8),
            np.asarray(columns[4], np.bool_),
        )

    @classmethod
    def concatenate(cls, batches: Sequence["StrategyBatch"]) -> "StrategyBatch":
        """One batch after the other; all of one model and cluster.

        Raises
        ------
        InvalidInput
            If there is none, or they differ in model or cluster.
        """
        if not batches:
            raise InvalidInput("at least one batch is needed")
        first = batches[0]
        if any(b.model.hash != first.model.hash or b.cluster.hash != first.cluster.hash for b in batches):
            raise InvalidInput("batches that are joined are of one model and cluster")
        arrays: dict[str, Any] = {
            name: np.concatenate([b._arrays()[name] for b in batches]) for name in first._arrays()
        }
        return cls(first.model, first.cluster, **arrays | {"start": starts(arrays["shards"])})

    def canonical(self) -> "StrategyBatch":
        """The same strategies with groups numbered in the order in which they first appear."""
        return replace(self, group=canonical_groups(self.start, self.shards.shape[1], self.group))

    def _take(self, chosen: npt.NDArray[np.int64]) -> "StrategyBatch":
        count = self.shards.shape[1]
        begin, end = self.start[chosen * count], self.start[(chosen + 1) * count]
        lengths = end - begin
        at = np.repeat(begin - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
        arrays: dict[str, Any] = {
            name: value[at if len(value.shape) == 1 and name in _PER_SHARD else chosen]
            for name, value in self._arrays().items()
            if name != "start"
        }
        return StrategyBatch(self.model, self.cluster, **arrays, start=starts(arrays["shards"]))

    def _decode(self, c: int) -> Strategy:
        count = self.shards.shape[1]
        entries = []
        for v, variable in enumerate(self.model.variables):
            shards = tuple(
                self._synchronizer(i, variable.sparse)
                for i in range(self.start[c * count + v], self.start[c * count + v + 1])
            )
            axis = None if self.axis[c, v] == WHOLE else int(self.axis[c, v])
            entries.append(VariableStrategy(variable.name, shards, axis))
        staleness = None if self.staleness[c] == UNBOUNDED else int(self.staleness[c])
        return Strategy(
            tuple(entries), self.cluster.replicas, bool(self.synchronous[c]), staleness, int(self.push_credit[c])
        )

    def _synchronizer(self, i: int, sparse: bool) -> Synchronizer:
        if self.destination[i] != ALL_REDUCED:
            return ParameterServer(self.cluster.nodes[self.destination[i]].name, bool(self.local_replication[i]))
        return AllReduce(
            None if self.group[i] == UNGROUPED else int(self.group[i]),
            COMPRESSORS[self.compressor[i]],
            SPARSE_MODES[int(sparse and self.densified[i])],
        )

    def _arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        return {name: getattr(self, name) for name in (*_PER_CANDIDATE, "start", *_PER_SHARD)}


_PER_CANDIDATE = ("synchronous", "staleness", "push_credit", "axis", "shards")
_PER_SHARD = ("destination", "local_replication", "group", "compressor", "densified")


def starts(shards: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Where the shards of each candidate and variable start, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(shards.ravel(), dtype=np.int64)]).astype(np.int64)


def _encode_shard(
    shard: Synchronizer, nodes: dict[str, int], sparse: bool, groups: dict[int, int]
) -> tuple[int, bool, int, int, bool]:
    if isinstance(shard, ParameterServer):
        return nodes[shard.destination], shard.local_replication, UNGROUPED, 0, False
    group = UNGROUPED if shard.group is None else groups.setdefault(shard.group, len(groups))
    return ALL_REDUCED, False, group, COMPRESSORS.index(shard.compressor), sparse and shard.sparse_as == "dense"


def _check_fits(strategy: Strategy) -> None:
    if strategy.push_credit > MOST_CREDIT:
        raise InvalidStrategy(f"an encoded push credit is at most {MOST_CREDIT}", received=strategy.push_credit)
    for entry in strategy.variables:
        if len(entry.shards) > MOST_SHARDS:
            raise InvalidStrategy(
                f"an encoded variable has at most {MOST_SHARDS} shards",
                where=f"variable {entry.variable!r}",
                received=len(entry.shards),
            )
