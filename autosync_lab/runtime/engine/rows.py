"""Row gradients and row lookups of sparse variables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class Rows:
    """Some rows of a variable: `values` [k, ...] belongs to the rows `ids` [k] (int64)."""

    values: tf.Tensor
    ids: tf.Tensor


def merged(rows: Rows) -> Rows:
    """Sum the rows that are named twice, so that each travels once."""
    ids, position = tf.unique(rows.ids, out_idx=tf.int64)
    values = tf.math.unsorted_segment_sum(rows.values, position, tf.size(ids))
    values.set_shape([None, *rows.values.shape.as_list()[1:]])
    return Rows(values, ids)


def shard_of_rows(ids: tf.Tensor, offsets: Sequence[int]) -> tuple[tf.Tensor, tf.Tensor]:
    """Which shard of axis 0 each row is in (int32), and its number counted from that shard's start (int64)."""
    owner = tf.searchsorted(tf.constant(offsets[1:-1], tf.int64), ids, side="right")
    return owner, ids - tf.gather(tf.constant(offsets[:-1], tf.int64), owner)


def split_rows(rows: Rows, offsets: Sequence[int]) -> list[Rows]:
    """Rows of each shard of axis 0, numbered from the shard's start; `offsets` are `shard_offsets`."""
    count = len(offsets) - 1
    if count == 1:
        return [rows]
    owner, local = shard_of_rows(rows.ids, offsets)
    values = tf.dynamic_partition(rows.values, owner, count)
    ids = tf.dynamic_partition(local, owner, count)
    return [Rows(v, i) for v, i in zip(values, ids, strict=True)]


@dataclass(frozen=True)
class Lookup:
    """A node that gathers rows of one variable: its output, and the tensor of row ids that it takes."""

    output: str
    indices: str


@dataclass(frozen=True)
class RowReads:
    """All uses of a variable in a graph, if each is a lookup of rows or a question about its shape."""

    lookups: tuple[Lookup, ...]
    shapes: tuple[tuple[str, str], ...]
    """(output tensor, dtype name) of nodes that only ask for the shape."""
    nodes: frozenset[str]
    """Names of all nodes that touch the variable."""


def find_row_reads(graph_def: Any, placeholder: str) -> RowReads | None:
    """Find the lookups of a variable.

    Parameters
    ----------
    graph_def : tf.compat.v1.GraphDef
    placeholder : str
        Tensor name of the variable's resource placeholder.

    Returns
    -------
    RowReads or None
        None if some use needs the whole variable, or hides in a nested function.
    """
    nodes = {n.name: n for n in graph_def.node}
    consumers: dict[str, list[Any]] = {}
    for node in graph_def.node:
        for source in {_node_of(i) for i in node.input if not i.startswith("^")}:
            consumers.setdefault(source, []).append(node)
    lookups: list[Lookup] = []
    shapes: list[tuple[str, str]] = []
    reads = list(consumers.get(placeholder.split(":")[0], []))
    tables: set[str] = set()
    touched: set[str] = set()
    while reads:
        node = reads.pop()
        touched.add(node.name)
        if node.op in ("ReadVariableOp", "Identity"):
            tables.add(node.name)
            reads += consumers.get(node.name, [])
        elif node.attr["batch_dims"].i == 0 and (
            node.op == "ResourceGather"
            or (
                node.op == "GatherV2"
                and _node_of(node.input[0]) in tables
                and _is_zero(nodes.get(_node_of(node.input[2])))
            )
        ):
            lookups.append(Lookup(f"{node.name}:0", _tensor(node.input[1])))
        elif node.op in ("Shape", "VariableShape"):
            shapes.append((f"{node.name}:0", tf.as_dtype(node.attr["out_type"].type).name))
        else:
            return None
    if not lookups or any(_cannot_repeat(nodes, _node_of(x.indices)) for x in lookups):
        return None
    # The order of `reads` is an accident of traversal; the graph's own order is the same in every process.
    order = {n.name: i for i, n in enumerate(graph_def.node)}
    return RowReads(
        tuple(sorted(lookups, key=lambda x: order[_node_of(x.output)])),
        tuple(sorted(shapes, key=lambda x: order[_node_of(x[0])])),
        frozenset(touched),
    )


def without_nodes(graph_def: Any, names: set[str]) -> Any:
    """A copy of the graph in which nothing waits for these nodes: their outputs must be given by an input map.

    A traced function orders its side effects by control edges, some of which start at reads of variables.
    """
    kept = tf.compat.v1.GraphDef()
    kept.CopyFrom(graph_def)
    del kept.node[:]
    for node in graph_def.node:
        if node.name in names:
            continue
        copy = kept.node.add()
        copy.CopyFrom(node)
        # "Beside that node" would name nodes that are gone; everything here is on one device anyway.
        copy.attr.pop("_class", None)
        del copy.input[:]
        copy.input.extend(i for i in node.input if not (i.startswith("^") and i[1:] in names))
    return kept


def _node_of(tensor: str) -> str:
    return tensor.lstrip("^").split(":")[0]


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _is_zero(node: Any) -> bool:
    return node is not None and node.op == "Const" and tf.make_ndarray(node.attr["value"].tensor).item() == 0


def _cannot_repeat(nodes: dict[str, Any], start: str) -> bool:
    """True if computing a tensor a second time may give another value: it reads variables, or draws random numbers."""
    registry = tf.Graph()
    seen: set[str] = set()
    stack = [start]
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        node = nodes[name]
        if node.op == "Placeholder" and node.attr["dtype"].type == tf.resource.as_datatype_enum:
            return True
        if registry.op_def_for_type(node.op).is_stateful:
            return True
        stack += [_node_of(i) for i in node.input]
    return False
