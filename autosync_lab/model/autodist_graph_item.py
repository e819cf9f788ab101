"""The variables of a serialized `GraphItem` of AutoDist, read without AutoDist and without TensorFlow.

A graph item holds a TensorFlow graph, the graph's variables (`info.variables`, TensorFlow's `VariableDef`), and which
gradient belongs to which variable (`grad_target_pairs`). A gradient that is a set of rows has three tensors, so its
name there is "indices;values;dense_shape".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autosync_lab.errors import InvalidModel
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import DTYPE_BYTES, Variable
from autosync_lab.protobuf_messages import Field, message_classes, parse_message
from autosync_lab.user_file import read_file

MAX_FILE_BYTES = 2**31 - 1
"""A protobuf message has no more."""

NO_GRAPH_ITEM = "this is no AutoDist graph item"

VARIABLE_OPS = frozenset({"VarHandleOp", "VariableV2", "Variable"})

DTYPES = {1: "float32", 2: "float64", 14: "bfloat16", 19: "float16"}
"""TensorFlow's numbers of the dtypes that a trainable variable may have (its `types.proto`)."""

FORWARD_SHARE = 1 / 3
"""Share of a step's compute in the forward pass: the backward pass takes about twice its time."""

_GRAPH_ITEM = {
    "Any": (Field(1, "type_url", "string"), Field(2, "value", "bytes")),
    "Pair": (Field(1, "gradient", "string"), Field(2, "variable", "string")),
    "Info": (
        Field(1, "variables", "Any", repeated=True),
        Field(2, "table_initializers", "string", repeated=True),
        Field(3, "savers", "Any", repeated=True),
    ),
    "GraphItem": (
        Field(1, "graph_def", "Any"),
        Field(2, "grad_target_pairs", "Pair", repeated=True),
        Field(3, "info", "Info"),
    ),
}

_TENSORFLOW = {
    "Dimension": (Field(1, "size", "int64"),),
    "Shape": (Field(2, "dim", "Dimension", repeated=True), Field(3, "unknown_rank", "bool")),
    "Value": (Field(6, "type", "int32"), Field(7, "shape", "Shape")),
    "Attribute": (Field(1, "key", "string"), Field(2, "value", "Value")),
    "NodeDef": (
        Field(1, "name", "string"),
        Field(2, "op", "string"),
        Field(5, "attr", "Attribute", repeated=True),
    ),
    "GraphDef": (Field(1, "node", "NodeDef", repeated=True),),
    "VariableDef": (Field(1, "variable_name", "string"), Field(7, "trainable", "bool")),
}
"""The few fields of TensorFlow's messages that are read here; the others may be there."""


@cache
def _graph_item_class() -> Any:
    return message_classes("autodist.proto", _GRAPH_ITEM)["GraphItem"]


@cache
def _tensorflow_classes() -> dict[str, Any]:
    return message_classes("tensorflow", _TENSORFLOW)


@dataclass(frozen=True)
class GraphVariable:
    """A trainable variable of a graph that has a gradient.

    Parameters
    ----------
    name : str
        Without TensorFlow's `:0`.
    shape : tuple of int
    dtype : str
    sparse : bool
        True if its gradient is a set of rows.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    sparse: bool


@dataclass(frozen=True)
class AutoDistGraphItem:
    """What a graph item says of a model.

    Parameters
    ----------
    variables : tuple of GraphVariable
        In the order in which the graph made them, which is AutoDist's order.
    without_gradient : tuple of str
        Trainable variables that nothing is synchronized of.
    """

    variables: tuple[GraphVariable, ...]
    without_gradient: tuple[str, ...]

    def model(self, name: str, batch_size: int, lookups: int) -> ModelSpec:
        """The model, with estimates of what a graph item does not say; its notes name them.

        Parameters
        ----------
        name : str
        batch_size : int
            Examples that one replica processes in one step.
        lookups : int
            Rows that one replica looks up in each sparse variable in one step. They are taken to spread evenly over the
            rows, so of n rows n (1 - (1 - 1 / n)^lookups) distinct ones are expected.
        """
        count = len(self.variables)
        variables = tuple(
            Variable(
                v.name,
                v.shape,
                v.dtype,
                v.sparse,
                _distinct_rows(v.shape[0], lookups) if v.sparse else None,
                FORWARD_SHARE + (1 - FORWARD_SHARE) * (count - position) / count,
            )
            for position, v in enumerate(self.variables)
        )
        notes = ["when gradients are ready is an estimate: evenly through the backward pass, the last variable's first"]
        if any(v.sparse for v in self.variables):
            notes.append(f"touched rows are an estimate: {lookups} lookups a step in each table, spread evenly")
        notes += [f"{v}: has no gradient, so it is not synchronized" for v in self.without_gradient]
        return ModelSpec(name, variables, batch_size, notes=tuple(notes))


def read_graph_item(path: Path) -> AutoDistGraphItem:
    """Read a graph item that AutoDist wrote.

    Raises
    ------
    InvalidModel
        If it cannot be read, or as `parse_graph_item` does.
    """
    return parse_graph_item(read_file(path, MAX_FILE_BYTES, "a graph item", InvalidModel), where=str(path))


def parse_graph_item(data: bytes, *, where: str | None = None) -> AutoDistGraphItem:
    """The variables of a serialized `GraphItem` message.

    Parameters
    ----------
    data : bytes
    where : str, optional
        What errors call it.

    Raises
    ------
    InvalidModel
        If it is no such message, holds no trainable variable with a gradient, or a variable has no known shape.
    """
    item = parse_message(_graph_item_class(), data, NO_GRAPH_ITEM, where, InvalidModel)
    trainable = [
        definition.variable_name.removesuffix(":0")
        for definition in (_unpacked(v, "VariableDef", where) for v in item.info.variables)
        if definition.trainable
    ]
    if not trainable:
        raise InvalidModel(f"{NO_GRAPH_ITEM}, or it has no trainable variables", where=where)
    if len(set(trainable)) < len(trainable):
        twice = next(name for name in trainable if trainable.count(name) > 1)
        raise InvalidModel("a variable is listed once", where=where, received=twice)
    rows = _gradients(item.grad_target_pairs, where)
    nodes = {n.name: n for n in _unpacked(item.graph_def, "GraphDef", where).node if n.op in VARIABLE_OPS}
    with_gradient = [name for name in trainable if name in rows]
    if not with_gradient:
        raise InvalidModel("no trainable variable has a gradient", where=where, received=trainable)
    return AutoDistGraphItem(
        tuple(_variable(name, nodes, all(rows[name]), where) for name in with_gradient),
        tuple(name for name in trainable if name not in rows),
    )


def _unpacked(packed: Any, kind: str, where: str | None) -> Any:
    name = packed.type_url.rpartition("/")[2]
    if name != f"tensorflow.{kind}":
        raise InvalidModel(f"{NO_GRAPH_ITEM}: a tensorflow.{kind} is expected", where=where, received=name)
    return parse_message(
        _tensorflow_classes()[kind], packed.value, f"{NO_GRAPH_ITEM}: its {kind} is damaged", where, InvalidModel
    )


def _gradients(pairs: Sequence[Any], where: str | None) -> dict[str, list[bool]]:
    """For each variable with gradients: whether each of them is a set of rows."""
    rows: dict[str, list[bool]] = {}
    for pair in pairs:
        tensors = pair.gradient.split(";")
        if len(tensors) not in (1, 3):
            raise InvalidModel(
                "a gradient is one tensor, or indices;values;dense_shape", where=where, received=pair.gradient
            )
        rows.setdefault(pair.variable.removesuffix(":0"), []).append(len(tensors) == 3)
    return rows


def _variable(name: str, nodes: dict[str, Any], sparse: bool, where: str | None) -> GraphVariable:
    at = f"{where}: variable {name!r}" if where else f"variable {name!r}"
    if name not in nodes:
        raise InvalidModel("the graph has no such variable", where=at)
    attributes = {attribute.key: attribute.value for attribute in nodes[name].attr}
    if "shape" not in attributes or "dtype" not in attributes:
        raise InvalidModel(
            "the graph tells the shape and the dtype of a variable", where=at, received=sorted(attributes)
        )
    shape, number = attributes["shape"].shape, attributes["dtype"].type
    dimensions = tuple(d.size for d in shape.dim)
    if shape.unknown_rank or min(dimensions, default=1) < 1:
        raise InvalidModel("a trainable variable has a known shape", where=at, received=dimensions)
    if number not in DTYPES:
        raise InvalidModel("unknown dtype", where=at, received=f"TensorFlow's dtype {number}", valid=DTYPE_BYTES)
    if sparse and not dimensions:
        raise InvalidModel("a variable whose gradient is rows has rows", where=at, received=dimensions)
    return GraphVariable(name, dimensions, DTYPES[number], sparse)


def _distinct_rows(rows: int, lookups: int) -> float:
    return 1.0 if rows == 1 else -rows * math.expm1(lookups * math.log1p(-1 / rows))
