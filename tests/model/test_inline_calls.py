from typing import Any

import numpy as np
import tensorflow as tf

from autosync_lab.model.inline_calls import CALLS, inline_calls


def inlined(function: Any, *arguments: Any) -> tuple[Any, list[Any]]:
    """The inlined graph of a function, and what it computes."""
    concrete = tf.function(function).get_concrete_function(*(tf.TensorSpec(np.shape(a), tf.float32) for a in arguments))
    graph_def = inline_calls(concrete.graph.as_graph_def())
    with tf.Graph().as_default():
        inputs = [tf.compat.v1.placeholder(tf.float32, np.shape(a)) for a in arguments]
        names = [t.name for t in concrete.graph.inputs]
        outputs = tf.graph_util.import_graph_def(
            graph_def, dict(zip(names, inputs, strict=True)), [t.name for t in concrete.outputs], name=""
        )
        with tf.compat.v1.Session() as session:
            return graph_def, session.run(outputs, dict(zip(inputs, arguments, strict=True)))


@tf.function
def split(a: Any, b: Any) -> Any:
    parts = tf.split(a, 2)
    return parts[1], b, parts[0] * 2.0


@tf.function
def outer(a: Any, b: Any) -> Any:
    x, y, z = split(a, b)
    u, v, _ = split(tf.concat([x, z], 0), y)
    return u + v, x


def test_calls_in_calls_are_gone_and_the_results_stay() -> None:
    a, b = np.arange(4.0, dtype="float32"), np.float32(10.0)
    graph_def, (first, second, third) = inlined(lambda a, b: (*outer(a, b), split(a, b)[1]), a, b)
    assert not [n for n in graph_def.node if n.op in CALLS]
    np.testing.assert_array_equal(first, [0.0 + 10.0, 2.0 + 10.0])
    np.testing.assert_array_equal(second, [2.0, 3.0])
    assert third == 10.0


def test_a_graph_without_calls_is_left_alone() -> None:
    graph_def = tf.function(lambda a: a + 1.0).get_concrete_function(tf.TensorSpec(())).graph.as_graph_def()
    assert inline_calls(graph_def) is graph_def


def test_what_waits_for_a_call_waits_for_its_effects() -> None:
    with tf.Graph().as_default() as graph:
        count = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=(), shared_name="count")
        first = tf.raw_ops.AssignVariableOp(resource=count, value=tf.constant(1.0))

        @tf.function
        def double(handle: Any) -> None:
            value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            tf.raw_ops.AssignVariableOp(resource=handle, value=2.0 * value)

        with tf.control_dependencies([first]):
            double(count)
        call = next(op for op in graph.get_operations() if op.type in CALLS)
        with tf.control_dependencies([call]):
            tf.raw_ops.ReadVariableOp(resource=count, dtype=tf.float32, name="after")
    for _ in range(5):
        with tf.Graph().as_default():
            (after,) = tf.graph_util.import_graph_def(inline_calls(graph.as_graph_def()), None, ["after:0"], name="")
            with tf.compat.v1.Session() as session:
                assert session.run(after) == 2.0
