"""Protobuf's wire format by hand, from its documentation: what tests hold the reading and writing against.

A message is written as a list of (field number, value): numbers are varints, texts and nested messages have a length.
"""

from collections.abc import Sequence

Value = int | str | bytes | Sequence["Field"]
Field = tuple[int, Value]


def message(*fields: Field) -> bytes:
    """The bytes of a message."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else message(*value)
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    groups = []
    while True:
        value, group = value >> 7, value & 127
        groups.append(group | (128 if value else 0))
        if not value:
            return bytes(groups)


def ps(destination: str = "10.0.0.1:CPU:0", local: bool = False, sync: bool = True, staleness: int = 0) -> Field:
    """A parameter server, as a node has it in both layouts; what is false or 0 is not written (proto3)."""
    values = [(1, destination), (2, int(local)), (3, int(sync)), (4, staleness)]
    return 2, [(n, v) for n, v in values if v]


def ar(group: int = 0, compressor: int = 0, spec: int = 0) -> Field:
    """An all-reduce, as a node has it in the released layout."""
    return 3, [(n, v) for n, v in ((1, spec), (2, compressor), (3, group)) if v]


REPLICAS = ("10.0.0.1:GPU:0", "10.0.0.2:GPU:0")


def strategy(
    *nodes: Sequence[Field], replicas: Sequence[str] = REPLICAS, name: str = "20200503T101112M000013"
) -> bytes:
    """A strategy file of these nodes."""
    return message((1, name), (2, "/tmp/s"), *((3, node) for node in nodes), (4, [(1, r) for r in replicas]))
