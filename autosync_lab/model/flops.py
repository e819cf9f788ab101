"""Floating-point operations of a traced step, and when its gradients are ready, estimated from static shapes.

Matrix products and convolutions are counted exactly, every other operation as one per output element. The body of a
loop counts once: its trip count is not static. Of a branch the longer side counts. An unknown dimension counts as 1.
"""

import math
from collections.abc import Sequence
from typing import Any

from autosync_lab.model.spec import EARLIEST_SHARE

FREE = frozenset({"Const", "Placeholder", "ReadVariableOp", "NoOp", "Identity", "IdentityN", "Shape", "Reshape"})
"""Operations that compute nothing."""

MATRIX_PRODUCTS = {"MatMul": "transpose_a", "BatchMatMul": "adj_x", "BatchMatMulV2": "adj_x", "BatchMatMulV3": "adj_x"}
"""Matrix products, and which attribute says that the left factor is transposed."""


def operation_flops(op: Any) -> float:
    """Floating-point operations of one TensorFlow operation."""
    if op.type in FREE:
        return 0.0
    if op.type in MATRIX_PRODUCTS:
        left = _shape(op.inputs[0])
        if not left:
            return 2.0 * _size(op.outputs[0])
        inner = left[-2] if op.get_attr(MATRIX_PRODUCTS[op.type]) and len(left) > 1 else left[-1]
        return 2.0 * _size(op.outputs[0]) * inner
    if op.type == "Einsum":
        return _einsum_flops(op)
    if op.type in ("Conv2D", "Conv3D"):
        return 2.0 * _size(op.outputs[0]) * math.prod(_shape(op.inputs[1])[:-1])
    if op.type in ("Conv2DBackpropInput", "Conv3DBackpropInputV2"):
        return 2.0 * _size(op.inputs[2]) * math.prod(_shape(op.inputs[1])[:-1])
    if op.type in ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"):
        return 2.0 * _size(op.inputs[2]) * math.prod(_shape(op.outputs[0])[:-1])
    # Each output element of a depthwise convolution sums over height and width of the filter only.
    if op.type == "DepthwiseConv2dNative":
        return 2.0 * _size(op.outputs[0]) * math.prod(_shape(op.inputs[1])[:2])
    if op.type == "DepthwiseConv2dNativeBackpropInput":
        return 2.0 * _size(op.inputs[2]) * math.prod(_shape(op.inputs[1])[:2])
    if op.type == "DepthwiseConv2dNativeBackpropFilter":
        return 2.0 * _size(op.inputs[2]) * math.prod(_shape(op.outputs[0])[:2])
    bodies = [graph_flops(body) for body in _bodies(op)]
    return float(sum(_size(t) for t in op.outputs)) + max(bodies, default=0.0)


def graph_flops(graph: Any) -> float:
    """Floating-point operations of all operations of a graph."""
    return sum(operation_flops(op) for op in graph.get_operations())


def ready_shares(graph: Any, order: Sequence[str], tensors: Sequence[str]) -> tuple[float, ...]:
    """Share of the step's operations after which each tensor is made, in (0, 1].

    Parameters
    ----------
    graph : tf.Graph
    order : sequence of str
        Names of all its operations in the order in which they run: that of the trace, which is forward, then backward
        from the last layer to the first.
    tensors : sequence of str
        Tensor names.
    """
    done = 0.0
    after: dict[str, float] = {}
    for name in order:
        done += operation_flops(graph.get_operation_by_name(name))
        after[name] = done
    shares = []
    for tensor in tensors:
        op = graph.get_tensor_by_name(tensor).op
        while op.type == "Identity":
            op = op.inputs[0].op
        shares.append(min(1.0, max(EARLIEST_SHARE, after[op.name] / done)) if done else 1.0)
    return tuple(shares)


def _shape(tensor: Any) -> list[int]:
    return [] if tensor.shape.rank is None else [d or 1 for d in tensor.shape.as_list()]


def _size(tensor: Any) -> int:
    return math.prod(_shape(tensor))


def _einsum_flops(op: Any) -> float:
    """A product of two tensors multiplies and adds once per combination of all labels; of one tensor it only moves."""
    if len(op.inputs) < 2:
        return float(_size(op.outputs[0]))
    terms = op.get_attr("equation").decode().replace(" ", "").split("->")[0].split(",")
    lengths: dict[str, int] = {}
    batch = 1
    for term, tensor in zip(terms, op.inputs, strict=True):
        head, dots, tail = term.partition("...")
        shape = _shape(tensor)
        if dots:
            batch = max(batch, math.prod(shape[len(head) : len(shape) - len(tail)]))
            shape = shape[: len(head)] + shape[len(shape) - len(tail) :]
        lengths |= dict(zip(head + tail, shape, strict=False))
    return 2.0 * batch * math.prod(lengths.values())


def _bodies(op: Any) -> list[Any]:
    """Graphs of the functions that an operation calls, without the conditions of loops."""
    names = []
    for attribute in ("f", "body", "then_branch", "else_branch"):
        try:
            names.append(op.get_attr(attribute).name)
        except (ValueError, AttributeError):
            continue
    functions = getattr(op.graph, "_functions", {})
    graphs = [getattr(functions.get(name), "graph", None) for name in names]
    return [graph for graph in graphs if graph is not None]
