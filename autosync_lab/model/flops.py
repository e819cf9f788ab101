"""Floating-point operations of a traced step, and when its gradients are ready, estimated from static shapes.

Matrix products and convolutions are counted exactly, every other operation as one per output element. The body of a loop
counts once: its trip count is not static. An unknown dimension counts as 1.
"""

import math
from collections.abc import Sequence
from typing import Any


def operation_flops(op: Any) -> float:
    """Floating-point operations of one TensorFlow operation."""
    if op.type in ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
        left = _shape(op.inputs[0])
        inner = left[-2] if transposed and len(left) > 1 else left[-1] if left else 1
        return 2.0 * _size(op.outputs[0]) * inner
    if op.type == "Conv2D":
        filters = _shape(op.inputs[1])
        return 2.0 * _size(op.outputs[0]) * math.prod(filters[:-1])
    if op.type == "Conv2DBackpropInput":
        filters = _shape(op.inputs[1])
        return 2.0 * _size(op.inputs[2]) * math.prod(filters[:-1])
    if op.type == "Conv2DBackpropFilter":
        gradient = op.inputs[2]
        filters = _shape(op.outputs[0])
        return 2.0 * _size(gradient) * math.prod(filters[:-1])
    if op.type == "DepthwiseConv2dNative":
        filters = _shape(op.inputs[1])
        return 2.0 * _size(op.outputs[0]) * math.prod(filters[:2])
    if op.type in ("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"):
        filters = _shape(op.inputs[1]) if op.type.endswith("Input") else _shape(op.outputs[0])
        return 2.0 * _size(op.inputs[2]) * math.prod(filters[:2])
    if op.type in ("Const", "Placeholder", "ReadVariableOp", "NoOp", "Identity", "Shape", "Reshape"):
        return 0.0
    own = float(sum(_size(t) for t in op.outputs))
    return own + sum(graph_flops(body) for body in _bodies(op))


def graph_flops(graph: Any) -> float:
    """Floating-point operations of all operations of a graph."""
    return sum(operation_flops(op) for op in graph.get_operations())


def ready_shares(graph: Any, tensors: Sequence[str]) -> tuple[float, ...]:
    """Share of the step's operations after which each tensor is made, in (0, 1], if they run in the order of the trace.

    Parameters
    ----------
    graph : tf.Graph
    tensors : sequence of str
        Tensor names.
    """
    operations = graph.get_operations()
    total = 0.0
    after: dict[str, float] = {}
    for op in operations:
        total += operation_flops(op)
        after[op.name] = total
    shares = []
    for name in tensors:
        op = graph.get_tensor_by_name(name).op
        while op.type == "Identity":
            op = op.inputs[0].op
        shares.append(min(1.0, max(1e-6, after[op.name] / total)) if total else 1.0)
    return tuple(shares)


def _shape(tensor: Any) -> list[int]:
    if tensor.shape.rank is None:
        return []
    return [d or 1 for d in tensor.shape.as_list()]


def _size(tensor: Any) -> int:
    return math.prod(_shape(tensor))


def _bodies(op: Any) -> list[Any]:
    """Graphs of the functions that an operation calls."""
    bodies = []
    for attribute in ("f", "body", "then_branch"):
        try:
            name = op.get_attr(attribute).name
        except (ValueError, AttributeError):
            continue
        functions = getattr(op.graph, "_functions", {})
        function = functions.get(name)
        body = getattr(function, "graph", None)
        if body is not None:
            bodies.append(body)
    return bodies
