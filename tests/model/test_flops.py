from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from autosync_lab.model.flops import graph_flops, ready_shares


def flops(function: Callable[..., Any], *shapes: tuple[int, ...]) -> float:
    specs = [tf.TensorSpec(s, tf.float32) for s in shapes]
    return graph_flops(tf.function(function).get_concrete_function(*specs).graph)


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (lambda a, b: tf.raw_ops.MatMul(a=a, b=b), [(2, 3), (3, 5)], 2 * 2 * 3 * 5),
        (lambda a, b: tf.raw_ops.MatMul(a=a, b=b, transpose_a=True), [(3, 2), (3, 5)], 2 * 2 * 3 * 5),
        (lambda a, b: tf.raw_ops.BatchMatMulV2(x=a, y=b), [(7, 2, 3), (7, 3, 5)], 7 * 2 * 2 * 3 * 5),
        (lambda a, b: tf.einsum("abd,dhe->abhe", a, b), [(2, 3, 4), (4, 5, 6)], 2 * 2 * 3 * 4 * 5 * 6),
        (lambda a, b: tf.raw_ops.Einsum(inputs=[a, b], equation="...d,de->...e"), [(2, 3, 4), (4, 5)], 2 * 6 * 4 * 5),
        (
            lambda x, k: tf.nn.conv2d(x, k, 1, "SAME"),
            [(2, 8, 8, 3), (3, 3, 3, 4)],
            2 * (2 * 8 * 8 * 4) * 3 * 3 * 3,
        ),
        (
            lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"),
            [(2, 8, 8, 3), (3, 3, 3, 1)],
            2 * (2 * 8 * 8 * 3) * 3 * 3,
        ),
        (lambda x: tf.nn.relu(x) + 1.0, [(4, 5)], 2 * 4 * 5),
        (lambda x: tf.reshape(x, (-1,)), [(4, 5)], 0),
    ],
)
def test_counts(function: Any, shapes: Any, expected: int) -> None:
    assert flops(function, *shapes) == expected


def test_the_backward_pass_of_a_convolution_costs_twice_the_forward_pass() -> None:
    def both(x: Any, k: Any) -> Any:
        y = tf.nn.conv2d(x, k, 2, "SAME")
        return tf.gradients(y, [x, k])

    forward = flops(lambda x, k: tf.nn.conv2d(x, k, 2, "SAME"), (2, 8, 8, 3), (3, 3, 3, 4))
    assert flops(both, (2, 8, 8, 3), (3, 3, 3, 4)) == pytest.approx(3 * forward, rel=0.05)


def test_functions_loops_and_branches_count_once() -> None:
    inner = tf.function(lambda a: tf.nn.relu(a))
    assert flops(lambda a: inner(a), (4, 5)) >= 20
    product = 2 * 4 * 4 * 4

    def loop(a: Any) -> Any:
        return tf.while_loop(lambda i, x: i < 9, lambda i, x: (i + 1, x @ x), (0, a))

    def branch(a: Any) -> Any:
        return tf.cond(a[0, 0] > 0.0, lambda: a @ a @ a, lambda: a)

    assert product <= flops(loop, (4, 4)) < 2 * product
    assert 2 * product <= flops(branch, (4, 4)) < 3 * product


def test_shares_follow_the_order_of_the_trace() -> None:
    with tf.Graph().as_default() as graph:
        a = tf.compat.v1.placeholder(tf.float32, (8, 8), name="a")
        b = tf.matmul(a, a, name="b")
        c = tf.matmul(b, b, name="c")
        tf.identity(b, name="alias")
    order = ["a", "b", "c", "alias"]
    assert ready_shares(graph, order, ["alias:0", c.name]) == (0.5, 1.0)
    assert ready_shares(graph, order, [a.name]) == (1e-6,)
