"""Reading AutoDist's strategy files."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from autosync_lab.errors import InvalidStrategy
from autosync_lab.protobuf_messages import parse_message, unknown_fields
from autosync_lab.strategy.autodist.layout import (
    COMPRESSORS,
    NO_STRATEGY,
    PARTITIONER,
    SPECS,
    layout_of,
    strategy_class,
)
from autosync_lab.strategy.spec import (
    MAX_STALENESS,
    AllReduce,
    ParameterServer,
    Strategy,
    Synchronizer,
    VariableStrategy,
)
from autosync_lab.user_file import read_file

MAX_FILE_BYTES = 64 << 20

_DEVICE = re.compile(r"(\S+):(CPU|GPU):([0-9]{1,6})")
"""AutoDist's name of a device: address:CPU:0. An address may have colons of its own."""

_UNSUPPORTED = {"released": {3: "PowerSGDCompressor"}, "later": {3: "SFBCompressor"}}
"""Compressors of each layout that no strategy here has."""


@dataclass(frozen=True)
class AutoDistStrategy:
    """What an AutoDist strategy file says.

    Parameters
    ----------
    id : str
        AutoDist's own id: the time at which it made the strategy.
    replicas : tuple of str
        Device of each replica, as address:GPU:number.
    strategy : Strategy
        Its destinations are addresses, its variables are named without AutoDist's `:0`, in the file's order.
    """

    id: str
    replicas: tuple[str, ...]
    strategy: Strategy

    @property
    def replica_nodes(self) -> tuple[str, ...]:
        """Address of each replica's node."""
        return tuple(device.rsplit(":", 2)[0] for device in self.replicas)


def read_autodist_strategy(path: Path) -> AutoDistStrategy:
    """Read a strategy file that AutoDist wrote.

    Raises
    ------
    InvalidStrategy
        If it cannot be read, or as `parse_autodist_strategy` does.
    """
    return parse_autodist_strategy(read_file(path, MAX_FILE_BYTES, "a strategy file", InvalidStrategy), where=str(path))


def parse_autodist_strategy(data: bytes, *, where: str | None = None) -> AutoDistStrategy:
    """The strategy that a serialized `Strategy` message of AutoDist says, in either layout.

    Which implementation of a collective runs (`spec`) is not kept. Everything else is, or is refused.

    Parameters
    ----------
    data : bytes
    where : str, optional
        What errors call it.

    Raises
    ------
    InvalidStrategy
        If it is no such message, holds a field that is not known, or says what no strategy here can; naming the
        variable and the rule.
    """
    try:
        layout = layout_of(data)
        message = parse_message(strategy_class(layout), data, NO_STRATEGY, None, InvalidStrategy)
        return _Reader(layout).read(message)
    except InvalidStrategy as error:
        at = ": ".join(place for place in (where, error.where) if place)
        raise InvalidStrategy(error.rule, where=at or None, received=error.received, valid=error.valid) from None


class _Reader:
    def __init__(self, layout: str) -> None:
        self._layout = layout
        self._updates: dict[tuple[bool, int], str] = {}
        """How parameter servers apply pushes (synchronous, staleness), and the first place that says so."""

    def read(self, message: Any) -> AutoDistStrategy:
        for kind, number in unknown_fields(message):
            raise InvalidStrategy(f"{NO_STRATEGY}: a message {kind} holds a field that is not known", received=number)
        if not message.node_config:
            raise InvalidStrategy(f"{NO_STRATEGY}: it has no variables")
        variables = tuple(self._entry(node) for node in message.node_config)
        replicas = tuple(message.graph_config.replicas)
        for device in replicas:
            _address(device, "a replica's device", ("CPU", "GPU"), "graph_config")
        if len(set(replicas)) < len(replicas):
            raise InvalidStrategy("each replica has a device of its own", where="graph_config", received=replicas)
        synchronous, staleness = self._settings()
        strategy = Strategy(variables, len(replicas), synchronous, staleness)
        return AutoDistStrategy(message.id, replicas, strategy)

    def _entry(self, node: Any) -> VariableStrategy:
        name = node.var_name.removesuffix(":0")
        where = f"variable {name!r}"
        if not name:
            raise InvalidStrategy("a node names its variable", received=node.var_name)
        if not node.partitioner:
            if node.part_config:
                raise InvalidStrategy("shards need a partitioner", where=where, received=len(node.part_config))
            return VariableStrategy(name, (self._synchronizer(node, where),))
        axis, count = _partition(node.partitioner, where)
        if len(node.part_config) != count:
            raise InvalidStrategy(
                f"the partitioner {node.partitioner!r} makes {count} shards",
                where=where,
                received=len(node.part_config),
            )
        for number, part in enumerate(node.part_config):
            expected = f"{name}/part_{number}:0"
            if part.var_name != expected:
                raise InvalidStrategy(f"shard {number} is called {expected!r}", where=where, received=part.var_name)
            if part.partitioner or part.part_config:
                raise InvalidStrategy("a shard is not partitioned again", where=where, received=part.partitioner)
        return VariableStrategy(name, tuple(self._synchronizer(part, where) for part in node.part_config), axis)

    def _synchronizer(self, node: Any, where: str) -> Synchronizer:
        kind = node.WhichOneof("synchronizer")
        if kind == "PSSynchronizer":
            return self._parameter_server(node.PSSynchronizer, node, where)
        if kind == "AllReduceSynchronizer":
            return self._all_reduce(node.AllReduceSynchronizer, node, where)
        if kind is None:
            raise InvalidStrategy("a variable, or each of its shards, has a synchronizer", where=where)
        raise InvalidStrategy(
            "this synchronizer is not known here",
            where=where,
            received=kind,
            valid=("PSSynchronizer", "AllReduceSynchronizer"),
        )

    def _parameter_server(self, server: Any, node: Any, where: str) -> ParameterServer:
        if len(server.reduction_destination) != 1:
            raise InvalidStrategy(
                "a shard on a parameter server has one destination",
                where=where,
                received=list(server.reduction_destination),
            )
        if self._compressor(node, where) != "none":
            raise InvalidStrategy("only all-reduced gradients are compressed", where=where, received="PSSynchronizer")
        if not 0 <= server.staleness <= MAX_STALENESS:
            raise InvalidStrategy(f"a staleness is 0 to {MAX_STALENESS} steps", where=where, received=server.staleness)
        # Pushes that nobody waits for have no bound either: AutoDist then ignores the staleness.
        self._updates.setdefault((server.sync, server.staleness if server.sync else 0), where)
        address = _address(server.reduction_destination[0], "a destination", ("CPU",), where)
        return _parameter_server(address, server.local_replication)

    def _all_reduce(self, collective: Any, node: Any, where: str) -> AllReduce:
        if not 0 <= collective.spec < len(SPECS):
            raise InvalidStrategy("unknown kind of collective", where=where, received=collective.spec)
        if collective.group < 0:
            raise InvalidStrategy("a group is 0 or more", where=where, received=collective.group)
        return _all_reduce(collective.group, self._compressor(node, where))

    def _compressor(self, node: Any, where: str) -> str:
        if self._layout == "later":
            number = node.compressor.type
        else:
            number = node.AllReduceSynchronizer.compressor
        if not 0 <= number < len(COMPRESSORS):
            raise InvalidStrategy(
                "this compressor is not known here",
                where=where,
                received=_UNSUPPORTED[self._layout].get(number, number),
                valid=("NoneCompressor", "HorovodCompressor", "HorovodCompressorEF"),
            )
        return COMPRESSORS[number]

    def _settings(self) -> tuple[bool, int | None]:
        """Synchronous, and staleness. A bound on synchronous updates makes AutoDist apply each push as it comes."""
        if len(self._updates) > 1:
            first, second = list(self._updates.items())[:2]
            raise InvalidStrategy(
                f"all parameter servers are equally synchronous; {first[1]} says sync {first[0][0]}, staleness "
                f"{first[0][1]}",
                where=second[1],
                received=f"sync {second[0][0]}, staleness {second[0][1]}",
            )
        synchronous, staleness = next(iter(self._updates), (True, 0))
        return (True, None) if synchronous and staleness == 0 else (False, staleness or None)


# Thousands of strategies with thousands of shards each consist of few different ones.
@lru_cache(maxsize=10_000)
def _parameter_server(destination: str, local_replication: bool) -> ParameterServer:
    return ParameterServer(destination, local_replication)


@lru_cache(maxsize=10_000)
def _all_reduce(group: int, compressor: str) -> AllReduce:
    return AllReduce(group, compressor)


def _partition(partitioner: str, where: str) -> tuple[int, int]:
    """Axis and number of shards of a partitioner such as 1,4,1."""
    if not PARTITIONER.fullmatch(partitioner):
        raise InvalidStrategy("a partitioner is numbers and commas", where=where, received=partitioner)
    counts = [int(count) for count in partitioner.split(",")]
    cut = [axis for axis, count in enumerate(counts) if count > 1]
    if len(cut) != 1 or min(counts) < 1:
        raise InvalidStrategy("a partitioner cuts exactly one axis", where=where, received=partitioner)
    return cut[0], counts[cut[0]]


def _address(device: str, what: str, kinds: tuple[str, ...], where: str) -> str:
    match = _DEVICE.fullmatch(device)
    if match is None or match[2] not in kinds:
        choices = " or ".join(f"address:{kind}:number" for kind in kinds)
        raise InvalidStrategy(f"{what} is {choices}", where=where, received=device)
    return match[1]
