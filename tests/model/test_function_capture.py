from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from autosync_lab import InvalidInput, ModelSpec
from tests.model.captured_step import assert_same_step, eager_gradients, run_captured

RNG = np.random.default_rng(1)
X = RNG.normal(size=(4, 3)).astype("float32")
Y = RNG.normal(size=(4, 1)).astype("float32")
IDS = np.array([1, 2, 2, 5], "int32")


def weight(*shape: int, name: str = "w", **options: Any) -> Any:
    return tf.Variable(RNG.normal(size=shape).astype("float32"), name=name, **options)


def check(function: Any, variables: list[Any], batch: Any, rtol: float = 1e-5) -> ModelSpec:
    """Capture a function, and compare one step with an eager one."""
    before = [v.numpy() for v in variables]
    spec = ModelSpec.from_function(function, variables, batch, name="f")
    for variable, value in zip(variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    captured = run_captured(spec.traced)
    with tf.GradientTape() as tape:
        loss = function(*(tf.constant(a) for a in batch))
    assert_same_step(captured, loss, eager_gradients(loss, tape, {v.name.split(":")[0]: v for v in variables}), rtol)
    return spec


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["python", "tf.function"])
def test_a_function_and_its_variables(wrap: Any) -> None:
    w, b = weight(3, 1), weight(name="b")
    spec = check(wrap(lambda x, y: tf.reduce_mean((x @ w + b - y) ** 2)), [b, w], (X, Y))
    assert [(v.name, v.shape) for v in spec.variables] == [("w", (3, 1)), ("b", ())]
    assert spec.batch_size == 4


def test_branches_on_tensors() -> None:
    w = weight()

    @tf.function
    def loss(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            result = w * tf.reduce_sum(x)
        else:
            result = w * w
        return result

    for x in (np.ones(3, "float32"), -np.ones(3, "float32")):
        check(loss, [w], (x,))


def test_loops_on_tensors() -> None:
    w = weight()

    @tf.function
    def loss(x: Any) -> Any:
        total = tf.zeros(())
        for row in x:
            total = tf.tanh(total * w + row[0])
        return total

    check(loss, [w], (X,))


def test_lookups_in_nested_functions_come_to_the_top_level() -> None:
    table, w = weight(8, 3, name="table"), weight(3, 1)

    @tf.function
    def lookup(i: Any) -> Any:
        return tf.gather(table, i)

    @tf.function
    def twice(i: Any) -> Any:
        return lookup(i) + lookup(i)

    spec = check(lambda i: tf.reduce_mean((twice(i) @ w) ** 2), [table, w], (IDS,))
    assert [v.sparse for v in spec.variables] == [True, False]
    assert spec.variables[0].touched_rows == 3.0
    graph = tf.compat.v1.GraphDef.FromString(spec.traced.graph_def)
    placeholder = spec.traced.trainable[0].placeholder.split(":")[0]
    readers = {n.op for n in graph.node if placeholder in n.input}
    assert readers <= {"ResourceGather", "ReadVariableOp", "VariableShape"}
    assert "ResourceGather" in readers


def test_effects_in_nested_functions_happen_once() -> None:
    w, count = weight(3, 1), tf.Variable(0.0, trainable=False, name="count")

    @tf.function
    def forward(x: Any) -> Any:
        count.assign_add(1.0)
        return x @ w * count

    spec = ModelSpec.from_function(lambda x: tf.reduce_mean(forward(x)), [w], (X,), name="f")
    captured = run_captured(spec.traced)
    assert captured.state["count"] == 1.0
    # The product takes the count after it was raised, as eager execution does.
    np.testing.assert_allclose(captured.loss, np.mean(X @ w.numpy()), rtol=1e-5)


def test_eager_tensors_become_constants() -> None:
    w, scale = weight(3, 1), tf.constant(RNG.normal(size=(300, 3)).astype("float32"))
    spec = check(lambda x: tf.reduce_mean(scale @ w) + tf.reduce_sum(x @ w), [w], (X,))
    assert [c.shape for c in spec.traced.constants] == [(300, 3)]


def test_methods_and_keras_variables() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = weight(3, 1)
            self.k = keras.Variable(np.ones((3, 1), "float32"), name="k")

        @tf.function
        def loss(self, x: Any) -> Any:
            return tf.reduce_mean(x @ self.w + x @ self.k.value)

    model = Model()
    spec = ModelSpec.from_function(model.loss, [model.w, model.k], (X,), name="f")
    assert [v.name for v in spec.variables] == ["w", "k"]


def test_repeated_names_are_numbered_also_against_state() -> None:
    frozen = tf.Variable(tf.ones((3, 1)), trainable=False, name="same")
    a, b = weight(3, 1, name="same"), weight(3, 1, name="same")
    spec = ModelSpec.from_function(lambda x: tf.reduce_mean(x @ frozen + x @ a + x @ b), [a, b], (X,), name="f")
    assert [v.name for v in spec.variables] == ["same", "same_1"]
    assert [v.name for v in spec.traced.state] == ["same_2"]
    np.testing.assert_array_equal(spec.traced.values["same_2"], 1.0)


def test_variables_that_are_not_listed_are_noted() -> None:
    w, other = weight(3, 1), weight(3, 1, name="other")
    spec = ModelSpec.from_function(lambda x: tf.reduce_mean(x @ w + x @ other), [w], (X,), name="f")
    assert spec.notes == ("other: is used but not among the trainable variables, so it keeps its value",)


def test_variables_without_a_gradient_are_noted() -> None:
    w, unused = weight(3, 1), weight(3, 1, name="unused")
    spec = check(lambda x: tf.reduce_mean(x @ w), [w, unused], (X,))
    assert [v.name for v in spec.variables] == ["w"]
    assert spec.notes == ("unused: has no gradient, so it is not synchronized",)


def test_random_generators_are_seeds() -> None:
    w, generator = weight(3, 1), tf.random.Generator.from_seed(1)
    spec = ModelSpec.from_function(lambda x: tf.reduce_mean(x @ w * generator.normal((4, 1))), [w], (X,), name="f")
    assert [v.is_seed for v in spec.traced.state] == [True]
    captured = run_captured(spec.traced)
    np.testing.assert_allclose(captured.loss, np.mean(X @ w.numpy() * generator.normal((4, 1)).numpy()), rtol=1e-5)


def test_it_is_traced_once_and_after_eager_mode_was_forced() -> None:
    w, traces = weight(3, 1), []

    @tf.function
    def loss(x: Any) -> Any:
        traces.append(x)
        return tf.reduce_mean(x @ w)

    tf.config.run_functions_eagerly(True)
    try:
        ModelSpec.from_function(loss, [w], (X,), name="f")
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(traces) == 1


def test_devices_of_this_machine_are_not_sent() -> None:
    w = weight(3, 1)

    def loss(x: Any) -> Any:
        with tf.device("/CPU:0"):
            return tf.reduce_mean(x @ w)

    graph = tf.compat.v1.GraphDef.FromString(ModelSpec.from_function(loss, [w], (X,), name="f").traced.graph_def)
    assert {n.device for n in graph.node} == {""}


def test_a_dictionary_is_one_argument() -> None:
    w = weight(3, 1)
    spec = ModelSpec.from_function(lambda d: tf.reduce_mean(d["x"] @ w - d["y"]), [w], {"x": X, "y": Y}, name="f")
    assert len(spec.traced.inputs) == 2


W = weight(3, 1)
TABLE = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), -1)
WORDS = tf.constant(["a", "b"] * 100)


@pytest.mark.parametrize(
    ("function", "variables", "message"),
    [
        (3, [W], "a function of the batch"),
        (lambda x: x @ W, [W], "the loss is a scalar"),
        (lambda x: tf.reduce_mean(x), [W], r"no trainable variable has a gradient.*'w'"),
        (lambda x: tf.reduce_mean(x @ W), [], "there is no trainable variable"),
        (lambda x: tf.reduce_mean(x @ W), [W, W], "a variable is listed once"),
        (lambda x: tf.reduce_mean(x @ W), ["w"], "variables are tf.Variable"),
        (lambda x: None, [W], "cannot be traced"),
        (lambda x: tf.reduce_mean(x @ tf.Variable(X)), [W], "cannot be traced"),
        (
            lambda x: tf.reduce_mean(x @ W) * tf.cast(TABLE.lookup(tf.cast(x[0, 0], tf.int32)), tf.float32),
            [W],
            "a resource that is no variable",
        ),
        (
            lambda x: tf.reduce_mean(x @ W) * tf.strings.to_number(WORDS)[0],
            [W],
            "a tensor from outside that is not numeric",
        ),
        (
            lambda x: tf.reduce_mean(tf.numpy_function(lambda a: a, [x], tf.float32) * tf.reduce_sum(W)),
            [W],
            "calls Python code",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_told_clearly(function: Any, variables: list[Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ModelSpec.from_function(function, variables, (X,), name="f")


def test_complex_variables_are_refused() -> None:
    w = tf.Variable(tf.complex(X, X), name="w")
    with pytest.raises(InvalidInput, match="unknown dtype"):
        ModelSpec.from_function(lambda x: tf.math.real(tf.reduce_sum(w)) + x[0, 0], [w], (X,), name="f")


def test_a_step_that_overwrites_what_it_trains_is_refused() -> None:
    w = tf.Variable(tf.ones((3, 2)), name="w")

    def loss(x: tf.Tensor) -> tf.Tensor:
        w.assign(w * 0.5)
        return tf.reduce_mean(x @ w)

    with pytest.raises(InvalidInput, match="only the optimizer may"):
        ModelSpec.from_function(loss, [w], (X,), name="f")


def test_batches_of_other_types_are_refused() -> None:
    w = tf.Variable(tf.ones((3, 2)), name="w")
    batches = [(np.ones((4, 3), np.int32),), (np.full((4, 3), 0.5, np.float32),)]
    with pytest.raises(InvalidInput, match="same types"):
        ModelSpec.from_function(lambda x: tf.reduce_mean(tf.cast(x, tf.float32) @ w), [w], batches, name="f")


def test_lookups_that_touch_no_row_of_the_example_count_one() -> None:
    table = tf.Variable(tf.ones((5, 2)), name="table")

    def loss(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.gather(table, tf.boolean_mask(tf.constant([1, 2]), tf.constant([False, False])))) + x[0]

    spec = ModelSpec.from_function(loss, [table], (np.ones((1,), np.float32),), name="f")
    assert spec.variables[0].touched_rows == 1.0
