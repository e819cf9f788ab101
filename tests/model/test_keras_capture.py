import threading
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from autosync_lab import InvalidInput, ModelSpec
from autosync_lab.model import keras_capture
from tests.model.captured_step import assert_same_step, check_keras, eager_gradients, run_captured

L = keras.layers
RNG = np.random.default_rng(0)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def words(*shape: int, below: int = 20) -> Any:
    return RNG.integers(0, below, shape).astype("int32")


def names(spec: ModelSpec) -> list[str]:
    return [v.name for v in spec.variables]


def test_sequential_with_regularizers() -> None:
    model = keras.Sequential(
        [
            keras.Input((4,)),
            L.Dense(3, activation="relu", kernel_regularizer="l2"),
            L.Dense(1, activity_regularizer="l2"),
        ]
    )
    spec = check_keras(model, "mse", (numbers(5, 4), numbers(5, 1)))
    assert names(spec) == ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]
    assert spec.batch_size == 5
    assert spec.notes == ()


def test_shared_layer() -> None:
    a, b = keras.Input((4,)), keras.Input((4,))
    shared = L.Dense(4, activation="tanh", name="shared")
    model = keras.Model([a, b], L.Dense(1)(shared(shared(a)) + shared(b)))
    check_keras(model, "mse", ([numbers(3, 4), numbers(3, 4)], numbers(3, 1)))


class Tied(keras.Model):
    """Predicts words with the table that it looks them up in."""

    def __init__(self) -> None:
        super().__init__()
        self.table = L.Embedding(20, 6, name="table")
        self.mix = L.Dense(6, name="mix")

    def call(self, x: Any) -> Any:
        return keras.ops.matmul(self.mix(self.table(x)), keras.ops.transpose(self.table.embeddings))


def test_tied_embedding_has_a_dense_gradient() -> None:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    spec = check_keras(Tied(), loss, (words(3, 5), words(3, 5)))
    assert [v.sparse for v in spec.variables] == [False, False, False]


def test_embedding_has_a_gradient_of_rows_at_the_top_level() -> None:
    model = keras.Sequential([keras.Input((3,), dtype="int32"), L.Embedding(20, 6), L.Flatten(), L.Dense(1)])
    x = np.array([[1, 2, 2], [7, 1, 1]], "int32")
    y = numbers(2, 1)
    spec = check_keras(model, "mse", (x, y))
    table = spec.variables[0]
    assert table.sparse
    assert table.touched_rows == 3.0
    assert spec.variables[1].touched_rows is None
    graph = tf.compat.v1.GraphDef.FromString(spec.traced.graph_def)
    reads = {n.name for n in graph.node if n.input and n.input[0] == spec.traced.trainable[0].placeholder.split(":")[0]}
    assert [n.op for n in graph.node if n.op == "GatherV2" and n.input[0] in reads] == ["GatherV2"]


def test_touched_rows_are_the_mean_over_the_examples() -> None:
    model = keras.Sequential([keras.Input((3,), dtype="int32"), L.Embedding(20, 6), L.Flatten(), L.Dense(1)])
    batches = [
        (np.array([[1, 1, 1]], "int32"), numbers(1, 1)),
        (np.array([[1, 2, 3]], "int32"), numbers(1, 1)),
        (np.array([[4, 5, 4]], "int32"), numbers(1, 1)),
    ]
    assert ModelSpec.from_keras(model, "mse", batches).variables[0].touched_rows == 2.0


def two_outputs(as_dict: bool) -> Any:
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    joined = L.Concatenate()([a, b])
    one, two = L.Dense(1, name="one")(joined), L.Dense(5, activation="softmax", name="two")(joined)
    return keras.Model({"a": a, "b": b}, {"one": one, "two": two} if as_dict else [one, two])


INPUTS = {"a": numbers(6, 4), "b": numbers(6, 3)}
TARGETS = (numbers(6, 1), words(6, below=5))
LOSSES = ("mse", "sparse_categorical_crossentropy")


@pytest.mark.parametrize("as_dict", [False, True])
def test_losses_by_output_name(as_dict: bool) -> None:
    losses, targets = dict(zip(("one", "two"), LOSSES, strict=True)), dict(zip(("one", "two"), TARGETS, strict=True))
    check_keras(two_outputs(as_dict), losses, (INPUTS, targets))


def test_losses_in_order() -> None:
    check_keras(two_outputs(False), list(LOSSES), (INPUTS, list(TARGETS)))


def test_one_loss_for_every_output() -> None:
    check_keras(two_outputs(False), "mse", (INPUTS, [numbers(6, 1), numbers(6, 5)]))


def test_an_output_without_a_loss_is_left_out() -> None:
    spec = check_keras(two_outputs(True), {"one": "mse"}, (INPUTS, {"one": TARGETS[0]}))
    assert names(spec) == ["one/kernel", "one/bias"]
    assert spec.notes == (
        "two/kernel: has no gradient, so it is not synchronized",
        "two/bias: has no gradient, so it is not synchronized",
    )


def test_sample_weights() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(2)])
    check_keras(model, "mse", (numbers(5, 4), numbers(5, 2), np.arange(5, dtype="float32")))


def test_masked_time_steps_have_no_loss() -> None:
    model = keras.Sequential(
        [keras.Input((4,), dtype="int32"), L.Embedding(20, 3, mask_zero=True), L.LSTM(2), L.Dense(1)]
    )
    check_keras(model, "mse", (np.array([[3, 2, 0, 0], [1, 0, 0, 0]], "int32"), numbers(2, 1)))
    model = keras.Sequential([keras.Input((4,), dtype="int32"), L.Embedding(20, 3, mask_zero=True)])
    check_keras(model, "mse", (np.array([[3, 2, 0, 0], [1, 0, 0, 0]], "int32"), numbers(2, 4, 3)))


def test_flat_targets_meet_outputs_with_one_column() -> None:
    def squared(y: Any, p: Any) -> Any:
        return keras.ops.square(y - p)

    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    check_keras(model, squared, (numbers(5, 4), numbers(5)))


def test_batch_norm_and_dropout_state() -> None:
    model = keras.Sequential(
        [keras.Input((4,)), L.Dense(8, use_bias=False), L.BatchNormalization(), L.Dropout(0.5), L.Dense(1)]
    )
    spec = check_keras(model, "mse", (numbers(6, 4), numbers(6, 1)))
    state = {v.name: v.is_seed for v in spec.traced.state}
    assert state == {
        "batch_normalization/moving_mean": False,
        "batch_normalization/moving_variance": False,
        "seed_generator/seed_generator_state": True,
    }
    assert len(spec.traced.update_ops) == 3


def test_state_changes_with_each_step() -> None:
    model = keras.Sequential([keras.Input((4,)), L.BatchNormalization(), L.Dense(1)])
    traced = ModelSpec.from_keras(model, "mse", (numbers(6, 4) + 5, numbers(6, 1))).traced
    after = run_captured(traced).state["batch_normalization/moving_mean"]
    assert np.all(after > 0.0)
    np.testing.assert_array_equal(traced.values["batch_normalization/moving_mean"], 0.0)


def test_frozen_layers_are_state() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, name="frozen"), L.Dense(1, name="head")])
    model.get_layer("frozen").trainable = False
    spec = check_keras(model, "mse", (numbers(5, 4), numbers(5, 1)))
    assert names(spec) == ["head/kernel", "head/bias"]
    assert {v.name for v in spec.traced.state} == {"frozen/kernel", "frozen/bias"}


@pytest.mark.parametrize(
    "layer",
    [
        L.LSTM(3, dropout=0.3),
        L.GRU(3, return_sequences=True),
        L.Bidirectional(L.LSTM(3)),
        L.RNN([L.GRUCell(3), L.LSTMCell(2)]),
        L.LSTM(3, unroll=True),
    ],
    ids=["lstm", "gru", "bidirectional", "stacked", "unrolled"],
)
def test_recurrent_layers(layer: Any) -> None:
    model = keras.Sequential([keras.Input((5,), dtype="int32"), L.Embedding(20, 4), layer, L.Flatten(), L.Dense(1)])
    spec = check_keras(model, "mse", (words(2, 5), numbers(2, 1)))
    assert spec.variables[0].sparse


def test_a_recurrent_layer_is_a_real_loop() -> None:
    model = keras.Sequential([keras.Input((5, 2)), L.LSTM(3), L.Dense(1)])
    spec = ModelSpec.from_keras(model, "mse", (numbers(2, 5, 2), numbers(2, 1)))
    graph = tf.compat.v1.GraphDef.FromString(spec.traced.graph_def)
    assert sum(n.op in ("While", "StatelessWhile") for n in graph.node) == 2


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy: str) -> None:
    model = keras.Sequential(
        [
            keras.Input((4,), dtype="int32"),
            L.Embedding(20, 4, dtype=policy),
            L.Flatten(),
            L.Dense(3, activation="relu", dtype=policy),
            L.Dense(1, dtype="float32"),
        ]
    )
    # The graph's optimizer may leave out casts there and back, so results differ in the last half-precision digits.
    spec = check_keras(model, "mse", (words(3, 4), numbers(3, 1)), rtol=2e-2)
    assert {v.dtype for v in spec.variables} == {"float32"}
    assert any("not scaled" in note for note in spec.notes) == (policy == "mixed_float16")


def test_half_precision_weights() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(1, dtype="bfloat16")])
    spec = check_keras(model, "mse", (numbers(3, 4), numbers(3, 1)), rtol=2e-2)
    assert {v.dtype for v in spec.variables} == {"bfloat16"}


def test_float64() -> None:
    model = keras.Sequential(
        [keras.Input((4,), dtype="float64"), L.Dense(3, dtype="float64"), L.Dense(1, dtype="float64")]
    )
    x, y = numbers(3, 4, dtype="float64"), numbers(3, 1, dtype="float64")
    # Also where Keras itself would compute the loss in its default dtype.
    for loss in (keras.losses.MeanSquaredError(dtype="float64"), "mse"):
        spec = ModelSpec.from_keras(model, loss, (x, y))
        assert {v.dtype for v in spec.variables} == {"float64"}
        with tf.GradientTape() as tape:
            expected = tf.reduce_mean((model(x) - y) ** 2)
        variables = {n: v.value for n, v in zip(names(spec), model.variables, strict=True)}
        assert_same_step(run_captured(spec.traced), expected, eager_gradients(expected, tape, variables), rtol=1e-14)


class Scaled(keras.Model):
    """A subclass with a scalar weight, a nested model, a branch, and a loss of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = keras.Sequential([L.Dense(3), L.Dense(3)])
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, x: Any, training: bool = False) -> Any:
        y = self.inner(x)
        if training:
            self.add_loss(0.1 * keras.ops.mean(keras.ops.square(y)))
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: y * self.scale, lambda: y + self.scale)


@pytest.mark.parametrize("built", [False, True])
def test_subclassed_model(built: bool) -> None:
    model, x = Scaled(), numbers(4, 3)
    if built:
        model(x)
    spec = check_keras(model, "mse", (x, numbers(4, 3)))
    scale = next(v for v in spec.variables if v.name == "scale")
    assert scale.shape == ()
    assert any("not built" in note for note in spec.notes) == (not built)


def test_building_a_model_leaves_its_state() -> None:
    model = keras.Sequential([L.Dense(3), L.BatchNormalization(), L.Dropout(0.5), L.LSTM(2, stateful=True)])
    ModelSpec.from_keras(model, "mse", (numbers(4, 3, 3), numbers(4, 2)))
    for variable in model.layers[1].non_trainable_variables:
        np.testing.assert_array_equal(variable.numpy(), float(variable.path.endswith("variance")))
    for state in model.layers[3].states:
        np.testing.assert_array_equal(state.numpy(), 0.0)


def test_model_in_model() -> None:
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, use_bias=False), L.BatchNormalization()], name="inner")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, L.Dense(1)(inner(inputs) * inner(inputs + 1.0)))
    spec = check_keras(model, "mse", (numbers(4, 4), numbers(4, 1)))
    assert names(spec)[:2] == ["inner/dense/kernel", "inner/batch_normalization/gamma"]


class Decorated(L.Layer):
    """A layer whose call is a function of its own in the graph."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=(20, 4), initializer="normal", name="table")

    @tf.function
    def call(self, x: Any) -> Any:
        return tf.gather(self.table.value, x)


def test_lookups_inside_a_nested_function_are_inlined() -> None:
    model = keras.Sequential([keras.Input((3,), dtype="int32"), Decorated(), L.Flatten(), L.Dense(1)])
    spec = check_keras(model, "mse", (words(4, 3), numbers(4, 1)))
    assert spec.variables[0].sparse
    graph = tf.compat.v1.GraphDef.FromString(spec.traced.graph_def)
    assert not any("PartitionedCall" in n.op for n in graph.node)


def test_the_models_own_loss() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = L.Dense(2)

        def call(self, x: Any) -> Any:
            self.add_loss(keras.ops.mean(keras.ops.square(self.dense(x))))
            return x

    check_keras(Own(), None, (numbers(3, 4), None))


def test_a_scalar_output_is_a_loss() -> None:
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.ops.mean(L.Dense(1)(inputs)))
    x = numbers(3, 4)
    captured = run_captured(ModelSpec.from_keras(model, None, x).traced)
    with tf.GradientTape() as tape:
        loss = model(x)
    variables = {"dense/kernel": model.variables[0].value, "dense/bias": model.variables[1].value}
    assert_same_step(captured, loss, eager_gradients(loss, tape, variables))


def test_names_are_unique_and_the_same_in_every_build() -> None:
    def build() -> Any:
        def inner() -> Any:
            inputs = keras.Input((3,))
            return keras.Model(inputs, L.Dense(3, name="same")(inputs))

        return keras.Sequential([keras.Input((3,)), inner(), inner(), L.Dense(2), L.Dense(2)])

    batch = (numbers(2, 3), numbers(2, 2))
    first, second = (ModelSpec.from_keras(build(), "mse", batch) for _ in range(2))
    expected = ["same/kernel", "same/bias", "same/kernel_1", "same/bias_1", "dense/kernel", "dense/bias"]
    assert names(first) == [*expected, "dense_1/kernel", "dense_1/bias"]
    assert names(first) == names(second)
    assert first.hash == second.hash


def test_forward_order_is_that_of_use_not_of_creation() -> None:
    late, early = L.Dense(3, name="late"), L.Dense(3, name="early")
    late.build((None, 3))
    early.build((None, 3))
    spec = ModelSpec.from_keras(
        keras.Sequential([keras.Input((3,)), early, late]), "mse", (numbers(2, 3), numbers(2, 3))
    )
    assert names(spec) == ["early/kernel", "early/bias", "late/kernel", "late/bias"]
    ready = {v.name: v.ready for v in spec.variables}
    assert ready["late/kernel"] < ready["early/kernel"]


def test_the_losses_of_a_trace_do_not_stay_in_the_model() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(1, activity_regularizer="l2")])
    ModelSpec.from_keras(model, "mse", (numbers(3, 4), numbers(3, 1)))
    assert not model.losses


def test_a_model_can_be_captured_again_and_from_a_thread_then_trained() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="relu"), L.Dropout(0.2), L.Dense(1)])
    batch = (numbers(8, 4), numbers(8, 1))
    specs = [ModelSpec.from_keras(model, "mse", batch)]
    thread = threading.Thread(target=lambda: specs.append(ModelSpec.from_keras(model, "mse", batch)))
    thread.start()
    thread.join()
    model.compile("sgd", "mse")
    model.fit(*batch, verbose=0)
    specs.append(ModelSpec.from_keras(model, "mse", batch))
    assert len({s.hash for s in specs}) == 1
    kernel = "dense/kernel"
    assert not np.array_equal(specs[0].traced.values[kernel], specs[2].traced.values[kernel])


def test_the_optimizer_of_a_compiled_model_stays_as_it_is() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    batch = (numbers(8, 4), numbers(8, 1))
    model.compile(keras.optimizers.Adam(), "mse")
    model.fit(*batch, verbose=0)
    before = [v.numpy() for v in model.optimizer.variables]
    ModelSpec.from_keras(model, "mse", batch)
    for variable, value in zip(model.optimizer.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_own_training_code_is_noted() -> None:
    class Own(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            raise AssertionError("not used")

    spec = ModelSpec.from_keras(Own([keras.Input((4,)), L.Dense(1)]), "mse", (numbers(2, 4), numbers(2, 1)))
    assert spec.notes == ("the model's own train_step is not used: a step is forward, loss and backward",)


SMALL = keras.Sequential([keras.Input((4,)), L.Dense(1)], name="small")
BATCH = (numbers(2, 4), numbers(2, 1))


@pytest.mark.parametrize(
    ("model", "loss", "batch", "message"),
    [
        ("vgg16", "mse", BATCH, "this is no Keras model"),
        (SMALL, "msee", BATCH, "did you mean 'mse'"),
        (SMALL, 3, BATCH, "a loss is a name"),
        (SMALL, None, BATCH, "a loss is needed"),
        (SMALL, keras.losses.MeanSquaredError(reduction="none"), BATCH, "reduced to a scalar"),
        (SMALL, ["mse", "mse"], BATCH, "2 losses need as many outputs"),
        (SMALL, {"dens": "mse"}, BATCH, "a loss names an output"),
        (SMALL, "mse", BATCH[0], r"a batch is \(x, y\)"),
        (SMALL, "mse", (BATCH[0], None), "a loss needs targets"),
        (SMALL, "mse", (numbers(2, 5), BATCH[1]), "cannot be traced"),
        (SMALL, "mse", (np.array([["a"]]), BATCH[1]), "turn text into ids"),
        (SMALL, "mse", (tf.TensorSpec((2, 4)), tf.TensorSpec((2, 1))), "a real batch is needed"),
        (SMALL, "mse", [], "at least one batch"),
    ],
)
def test_mistakes_are_told_clearly(model: Any, loss: Any, batch: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ModelSpec.from_keras(model, loss, batch)


def test_a_frozen_model_cannot_be_synchronized() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    model.trainable = False
    with pytest.raises(InvalidInput, match="no trainable variable"):
        ModelSpec.from_keras(model, "mse", BATCH)


def test_variables_without_any_gradient_are_named() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(1), L.Lambda(keras.ops.stop_gradient)])
    with pytest.raises(InvalidInput, match=r"no trainable variable has a gradient.*dense/kernel"):
        ModelSpec.from_keras(model, "mse", BATCH)


def test_a_lookup_table_cannot_move() -> None:
    model = keras.Sequential(
        [keras.Input((4,), dtype="int64"), L.IntegerLookup(vocabulary=[1, 2, 3]), L.Embedding(9, 2)]
    )
    with pytest.raises(InvalidInput, match=r"resource that is no variable|cannot be traced"):
        ModelSpec.from_keras(model, "mse", (words(2, 4).astype("int64"), numbers(2, 4, 2)))


def test_another_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras_capture.keras.backend, "backend", lambda: "jax")
    with pytest.raises(InvalidInput, match="KERAS_BACKEND=tensorflow"):
        ModelSpec.from_keras(SMALL, "mse", BATCH)
