"""The wire format of AutoDist's `Strategy` message (proto3, package autodist.proto), in its two layouts.

`released` is what AutoDist's releases and the AutoSync data set have. `later`, a later branch, put a third synchronizer
(sufficient factor broadcasting) in the place of the partitioner and moved the compressor from the all-reduce to the
node:

| field of a node | released            | later               |
|-----------------|---------------------|---------------------|
| 1, 2, 3         | var_name, PS, AR    | var_name, PS, AR    |
| 4               | partitioner         | SFB                 |
| 5               | part_config         | partitioner         |
| 6               |                     | part_config         |
| 7               |                     | compressor          |

Nothing in a file names its layout, but a partitioner is text of digits and commas, and no message begins with a digit.
"""

import re
from functools import cache
from typing import Any

from autosync_lab.errors import InvalidStrategy
from autosync_lab.protobuf_messages import Field, message_classes, parse_message

LAYOUTS = ("released", "later")

PACKAGE = "autodist.proto"

PARTITIONER = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
"""Shards along each axis, such as 1,4,1."""

NO_STRATEGY = "this is no AutoDist strategy file"

COMPRESSORS = ("none", "fp16", "fp16-ef")
"""What the numbers 0, 1, 2 of both layouts mean: NoneCompressor, HorovodCompressor, HorovodCompressorEF."""

SPECS = ("AUTO", "NCCL", "RING")
"""Collective implementations by number. Which one runs is the runtime's matter, and no part of a strategy here."""

_SYNCHRONIZERS = {
    "PSSynchronizer": (
        # Before partitioners there were several destinations, and protobuf would keep the last one only.
        Field(1, "reduction_destination", "string", repeated=True),
        Field(2, "local_replication", "bool"),
        Field(3, "sync", "bool"),
        Field(4, "staleness", "int32"),
    ),
    "GraphConfig": (Field(1, "replicas", "string", repeated=True),),
    "Strategy": (
        Field(1, "id", "string"),
        Field(2, "path", "string"),
        Field(3, "node_config", "Node", repeated=True),
        Field(4, "graph_config", "GraphConfig"),
    ),
}

_NODE = (
    Field(1, "var_name", "string"),
    Field(2, "PSSynchronizer", "PSSynchronizer", choice="synchronizer"),
    Field(3, "AllReduceSynchronizer", "AllReduceSynchronizer", choice="synchronizer"),
)

_RELEASED = _SYNCHRONIZERS | {
    "Node": (
        *_NODE,
        Field(4, "partitioner", "string"),
        Field(5, "part_config", "Node", repeated=True),
    ),
    "AllReduceSynchronizer": (Field(1, "spec", "int32"), Field(2, "compressor", "int32"), Field(3, "group", "int32")),
}

_LATER = _SYNCHRONIZERS | {
    "Node": (
        *_NODE,
        Field(4, "SFBSynchronizer", "SFBSynchronizer", choice="synchronizer"),
        Field(5, "partitioner", "string"),
        Field(6, "part_config", "Node", repeated=True),
        Field(7, "compressor", "Compressor"),
    ),
    "AllReduceSynchronizer": (Field(1, "spec", "int32"), Field(3, "group", "int32")),
    "SFBSynchronizer": (Field(1, "spec", "int32"), Field(3, "group", "int32")),
    "Compressor": (Field(1, "type", "int32"),),
}

_DISPUTED = {
    "Strategy": (Field(3, "node_config", "Node", repeated=True),),
    "Node": tuple(Field(n, f"field{n}", "bytes", repeated=True) for n in (4, 5, 6, 7)),
}
"""What the layouts do not agree on."""


@cache
def strategy_class(layout: str) -> Any:
    """The message `Strategy` of a layout."""
    return message_classes(PACKAGE, {"released": _RELEASED, "later": _LATER}[layout])["Strategy"]


@cache
def _disputed_class() -> Any:
    return message_classes(PACKAGE, _DISPUTED)["Strategy"]


def layout_of(data: bytes) -> str:
    """The layout of a strategy file; `released` if it holds nothing that the layouts do not agree on.

    Raises
    ------
    InvalidStrategy
        If it is no strategy, or one part of it has one layout and another part the other.
    """
    strategy = parse_message(_disputed_class(), data, NO_STRATEGY, None, InvalidStrategy)
    found = {layout for node in strategy.node_config for layout in _layouts_of(node)}
    if len(found) > 1:
        raise InvalidStrategy(f"{NO_STRATEGY}: its nodes have different layouts")
    return found.pop() if found else "released"


def _layouts_of(node: Any) -> set[str]:
    found = {"released" if _is_partitioner(value) else "later" for value in node.field4}
    found |= {"later" if _is_partitioner(value) else "released" for value in node.field5}
    return found | ({"later"} if node.field6 or node.field7 else set())


def _is_partitioner(value: bytes) -> bool:
    return PARTITIONER.fullmatch(value.decode("ascii", "replace")) is not None


def partitioner_of(axis: int, shards: int, rank: int) -> str:
    """The partitioner that cuts one axis of a variable with `rank` axes."""
    return ",".join(str(shards if a == axis else 1) for a in range(rank))
