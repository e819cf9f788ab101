"""A synchronization strategy: one synchronizer per shard of every trainable variable, plus graph-wide settings."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from autosync_lab.content_hash import content_hash
from autosync_lab.errors import InvalidStrategy

FORMAT_VERSION = 1

MAX_STALENESS = 1000
"""Steps. A bound that is further away than that bounds nothing."""

COMPRESSORS = ("none", "fp16", "bf16", "fp16-ef")
"""Wire encodings of an all-reduced gradient; fp16-ef keeps the rounding error and adds it to the next gradient."""

LOSSY_COMPRESSORS = frozenset(COMPRESSORS) - {"none"}

SPARSE_MODES = ("gather", "dense")
"""How all-reduce carries a sparse gradient: all-gather of its rows, or all-reduce of the densified gradient."""


def _must_be(kind: type, value: Any, rule: str) -> None:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidStrategy(rule, received=value)


@dataclass(frozen=True)
class ParameterServer:
    """A shard owned by the server of one node.

    Parameters
    ----------
    destination : str
        Name of the node that owns the shard.
    local_replication : bool
        Gradients are first summed inside a node, and the shard is pulled once per node.
    """

    destination: str
    local_replication: bool = False

    kind: Literal["ps"] = "ps"

    def __post_init__(self) -> None:
        _must_be(str, self.destination, "a destination is the name of a node")
        _must_be(bool, self.local_replication, "local_replication is true or false")


@dataclass(frozen=True)
class AllReduce:
    """A shard whose gradient is summed by a collective over all replicas.

    Parameters
    ----------
    group : int, optional
        Shards with one group id travel as one fused collective. None: a collective of its own, and if all all-reduced
        shards of a strategy say so, Horovod fuses what is ready at the same time.
    compressor : str
        One of `COMPRESSORS`.
    sparse_as : str
        One of `SPARSE_MODES`; means something for sparse variables only.
    """

    group: int | None = None
    compressor: str = "none"
    sparse_as: str = "gather"

    kind: Literal["ar"] = "ar"

    def __post_init__(self) -> None:
        if self.group is not None:
            _must_be(int, self.group, "a group id is 0 or more, or null")
        if self.group is not None and self.group < 0:
            raise InvalidStrategy("a group id is 0 or more, or null", received=self.group)
        if self.compressor not in COMPRESSORS:
            raise InvalidStrategy("unknown compressor", received=self.compressor, valid=COMPRESSORS)
        if self.sparse_as not in SPARSE_MODES:
            raise InvalidStrategy("unknown way to reduce rows", received=self.sparse_as, valid=SPARSE_MODES)


Synchronizer = ParameterServer | AllReduce


@dataclass(frozen=True)
class VariableStrategy:
    """How one variable is synchronized.

    Parameters
    ----------
    variable : str
        Its name.
    shards : tuple of ParameterServer or AllReduce
        One synchronizer per shard, in order along `axis`; a single one if the variable is not partitioned.
    axis : int, optional
        The partition axis; None if the variable is not partitioned.
    """

    variable: str
    shards: tuple[Synchronizer, ...]
    axis: int | None = None

    def __post_init__(self) -> None:
        _must_be(str, self.variable, "a variable is known by its name")
        object.__setattr__(self, "shards", tuple(self.shards))
        where = f"variable {self.variable!r}"
        for shard in self.shards:
            if not isinstance(shard, ParameterServer | AllReduce):
                raise InvalidStrategy("a shard is a ParameterServer or an AllReduce", where=where, received=shard)
        if self.axis is not None:
            _must_be(int, self.axis, "a partition axis is 0 or more")
        if not self.shards:
            raise InvalidStrategy("a variable has at least one shard", where=where)
        if self.axis is None and len(self.shards) > 1:
            raise InvalidStrategy("more than one shard needs a partition axis", where=where, received=len(self.shards))
        if self.axis is not None and self.axis < 0:
            raise InvalidStrategy("a partition axis is 0 or more", where=where, received=self.axis)
        if self.axis is not None and len(self.shards) < 2:
            raise InvalidStrategy(
                "a partitioned variable has at least 2 shards", where=where, received=len(self.shards)
            )


@dataclass(frozen=True)
class Strategy:
    """One synchronizer per shard of every trainable variable, plus graph-wide settings.

    What depends on a model and a cluster (shapes, node names) is checked by `validate_strategy`.

    Parameters
    ----------
    variables : tuple of VariableStrategy
        In the model's forward order.
    replicas : int
        Number of replicas.
    synchronous : bool
        False: parameter servers apply every push as it comes.
    staleness : int, optional
        Asynchronous only: how many steps the fastest replica may be ahead of the slowest; None is no bound.
    push_credit : int
        How many parameter-server pushes a replica keeps in flight; 0 is no limit.
    """

    variables: tuple[VariableStrategy, ...]
    replicas: int
    synchronous: bool = True
    staleness: int | None = None
    push_credit: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        for entry in self.variables:
            _must_be(VariableStrategy, entry, "a strategy has one VariableStrategy for each variable")
        _must_be(int, self.replicas, "a strategy has at least 1 replica")
        _must_be(bool, self.synchronous, "synchronous is true or false")
        _must_be(int, self.push_credit, "push_credit is 0 (no limit) or more")
        if self.staleness is not None:
            _must_be(int, self.staleness, "a staleness bound is a whole number of steps")
        if self.replicas < 1:
            raise InvalidStrategy("a strategy has at least 1 replica", received=self.replicas)
        if self.push_credit < 0:
            raise InvalidStrategy("push_credit is 0 (no limit) or more", received=self.push_credit)
        if self.staleness is not None and (self.synchronous or not 0 <= self.staleness <= MAX_STALENESS):
            raise InvalidStrategy(
                f"a staleness bound is 0 to {MAX_STALENESS} steps, for asynchronous strategies", received=self.staleness
            )
        seen: set[str] = set()
        for entry in self.variables:
            if entry.variable in seen:
                raise InvalidStrategy("a variable has one entry", received=entry.variable)
            seen.add(entry.variable)

    @cached_property
    def id(self) -> str:
        """Content id: equal strategies, equal ids, in every process."""
        return content_hash(self._content(), length=12)

    @property
    def lossless(self) -> bool:
        """True if training gives what one process on the concatenated batch gives: synchronous, no lossy compressor."""
        return self.synchronous and not any(
            isinstance(s, AllReduce) and s.compressor in LOSSY_COMPRESSORS for v in self.variables for s in v.shards
        )

    def with_settings(self, **settings: Any) -> "Strategy":
        """A copy with other graph-wide settings."""
        return replace(self, **settings)

    def _content(self) -> dict[str, Any]:
        return {
            "replicas": self.replicas,
            "synchronous": self.synchronous,
            "staleness": self.staleness,
            "push_credit": self.push_credit,
            "variables": [_variable_to_json(v) for v in self.variables],
        }

    def to_json(self) -> dict[str, Any]:
        """Versioned JSON document."""
        return {"format": "autosync-lab/strategy", "version": FORMAT_VERSION, "id": self.id} | self._content()

    def dumps(self) -> str:
        """JSON text."""
        return json.dumps(self.to_json(), indent=1)

    @classmethod
    def loads(cls, text: str, *, where: str | None = None) -> "Strategy":
        """Inverse of `dumps`.

        Raises
        ------
        InvalidStrategy
            If it is no JSON, or as `from_json` does.
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidStrategy(f"this is no JSON: {error}", where=where) from None
        return cls.from_json(document, where=where)

    @classmethod
    def from_json(cls, document: Any, *, where: str | None = None) -> "Strategy":
        """Inverse of `to_json`.

        Raises
        ------
        InvalidStrategy
            Naming the field and the variable that is wrong.
        """
        if not isinstance(document, dict) or document.get("format") != "autosync-lab/strategy":
            raise InvalidStrategy("this is no strategy file", where=where)
        if document.get("version") != FORMAT_VERSION or type(document["version"]) is not int:
            raise InvalidStrategy(
                f"this version reads strategy files of version {FORMAT_VERSION}",
                where=where,
                received=document.get("version"),
            )
        known = {"format", "version", "id", "replicas", "synchronous", "staleness", "push_credit", "variables"}
        _only(document, known, where)
        for required in ("replicas", "variables"):
            if required not in document:
                raise InvalidStrategy(f"the field {required!r} is missing", where=where)
        if not isinstance(document["variables"], list):
            raise InvalidStrategy("'variables' is a list", where=where, received=document["variables"])
        variables = tuple(_variable_from_json(v, where) for v in document["variables"])
        replicas = _integer(document, "replicas", where)
        synchronous = _boolean(document, "synchronous", True, where)
        staleness = _integer(document, "staleness", where) if document.get("staleness") is not None else None
        push_credit = _integer(document, "push_credit", where) if "push_credit" in document else 0
        with _located(where):
            strategy = cls(variables, replicas, synchronous, staleness, push_credit)
        if document.get("id", strategy.id) != strategy.id:
            raise InvalidStrategy(
                f"this content has the id {strategy.id!r}: the file was changed; remove its id if that was meant",
                where=where,
                received=document["id"],
            )
        return strategy


def _variable_to_json(entry: VariableStrategy) -> dict[str, Any]:
    shards: list[dict[str, Any]] = []
    for shard in entry.shards:
        if isinstance(shard, ParameterServer):
            shards.append({"ps": shard.destination, "local_replication": shard.local_replication})
        else:
            shards.append({"ar": shard.group, "compressor": shard.compressor, "sparse_as": shard.sparse_as})
    return {"variable": entry.variable, "axis": entry.axis, "shards": shards}


def _variable_from_json(document: Any, where: str | None) -> VariableStrategy:
    if not isinstance(document, dict) or not isinstance(document.get("variable"), str):
        raise InvalidStrategy("an entry names its variable", where=where, received=document)
    where = f"{where}: variable {document['variable']!r}" if where else f"variable {document['variable']!r}"
    _only(document, {"variable", "axis", "shards"}, where)
    shards = document.get("shards")
    if not isinstance(shards, list):
        raise InvalidStrategy("'shards' is a list", where=where, received=shards)
    axis = _integer(document, "axis", where) if document.get("axis") is not None else None
    synchronizers = tuple(_shard_from_json(s, where) for s in shards)
    with _located(where):
        return VariableStrategy(document["variable"], synchronizers, axis)


def _shard_from_json(document: Any, where: str) -> Synchronizer:
    if not isinstance(document, dict) or ("ps" in document) == ("ar" in document):
        raise InvalidStrategy("a shard has either 'ps' (a node) or 'ar' (a group)", where=where, received=document)
    if "ps" in document:
        _only(document, {"ps", "local_replication"}, where)
        if not isinstance(document["ps"], str):
            raise InvalidStrategy("'ps' is the name of a node", where=where, received=document["ps"])
        return ParameterServer(document["ps"], _boolean(document, "local_replication", False, where))
    _only(document, {"ar", "compressor", "sparse_as"}, where)
    group = _integer(document, "ar", where) if document["ar"] is not None else None
    with _located(where):
        return AllReduce(group, document.get("compressor", "none"), document.get("sparse_as", "gather"))


@contextmanager
def _located(where: str | None) -> Iterator[None]:
    """Errors of what is being built say where in a file it stands."""
    try:
        yield
    except InvalidStrategy as error:
        raise InvalidStrategy(
            error.rule, where=where or error.where, received=error.received, valid=error.valid
        ) from None


def _only(document: dict[str, Any], known: set[str], where: str | None) -> None:
    for field_name in document:
        if field_name not in known:
            raise InvalidStrategy("unknown field", where=where, received=field_name, valid=sorted(known))


def _integer(document: dict[str, Any], field_name: str, where: str | None) -> int:
    value = document[field_name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidStrategy(f"{field_name!r} is a whole number", where=where, received=value)
    return value


def _boolean(document: dict[str, Any], field_name: str, default: bool, where: str | None) -> bool:
    value = document.get(field_name, default)
    if not isinstance(value, bool):
        raise InvalidStrategy(f"{field_name!r} is true or false", where=where, received=value)
    return value
