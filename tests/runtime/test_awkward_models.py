"""Models whose names, numbers or lookups are easy to get wrong still train as one process does."""

from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf

import autosync_lab as asl
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Runner
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy
from tests.runtime.clusters import fast_cluster
from tests.runtime.reference import concatenated_training
from tests.runtime.test_parity import STEPS, assert_parity, worst_error

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with asl.open_cluster(fast_cluster()) as opened:
        yield opened


def products(names: list[str], scale: float = 1.0) -> ModelSpec:
    """A sum of products, one variable of shape [6, 4] for each name."""
    weights = [tf.Variable(RNG.normal(size=(6, 4)).astype(np.float32), name=name) for name in names]

    def loss(x: tf.Tensor) -> tf.Tensor:
        return scale * tf.add_n([tf.reduce_sum(tf.tanh(x @ w)) for w in weights])

    batches = [(RNG.normal(size=(5, 6)).astype(np.float32),) for _ in range(STEPS)]
    return ModelSpec.from_function(tf.autograph.experimental.do_not_convert(loss), weights, batches, name="products")


@pytest.mark.parametrize(
    "names", [["w", "w/momentum"], ["w", "copy/w"], ["w", "w/shard0"], ["a b", "a:0", "a_b"], ["local/w", "w"]]
)
@pytest.mark.parametrize("kind", ["ps", "ar"])
def test_no_name_is_taken_for_another(runner: Runner, names: list[str], kind: str) -> None:
    model = products(names)
    node = runner.cluster.nodes[0].name
    shard = ParameterServer(node) if kind == "ps" else AllReduce(0)
    entries = tuple(
        VariableStrategy(v.name, (shard, shard), 0) if i == 0 else VariableStrategy(v.name, (ParameterServer(node),))
        for i, v in enumerate(model.variables)
    )
    strategy = Strategy(entries, runner.cluster.replicas)
    assert_parity(runner, model, {kind: strategy}, "momentum", 1e-5)


@pytest.mark.parametrize("compressor", ["fp16", "fp16-ef"])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_small_and_large_gradients_fit_sixteen_bits(runner: Runner, compressor: str, scale: float) -> None:
    model = products(["w"], scale)
    strategy = Strategy((VariableStrategy("w", (AllReduce(0, compressor),)),), runner.cluster.replicas)
    trial, trained = runner.train(model, strategy, steps=STEPS, learning_rate=0.05 / scale)
    assert trial.status == "ok", trial.error
    reference = concatenated_training(model.traced, runner.cluster.replicas, STEPS, "sgd", 0.05 / scale)
    assert worst_error(trained, reference) <= 5e-3


def test_random_row_ids_are_drawn_once(runner: Runner) -> None:
    table = tf.Variable(np.arange(50, dtype=np.float32)[:, None].repeat(4, 1), name="table")

    def loss(x: tf.Tensor) -> tf.Tensor:
        drawn = tf.random.uniform([8]) * 50.0
        rows = tf.gather(table, tf.cast(drawn, tf.int64))
        return tf.reduce_sum(rows[:, 0]) - tf.reduce_sum(tf.floor(drawn)) + 0.0 * tf.reduce_sum(x)

    model = ModelSpec.from_function(loss, [table], (np.ones((2, 2), np.float32),), name="drawn")
    for shard in (ParameterServer("server0"), AllReduce(0)):
        strategy = Strategy((VariableStrategy("table", (shard,)),), runner.cluster.replicas)
        trial = runner.measure(model, strategy, steps=1, warmup=0, learning_rate=0.0)
        assert trial.status == "ok", trial.error
        assert trial.losses == (0.0,)


def test_bfloat16_variables_are_refused_before_anything_runs(runner: Runner) -> None:
    weight = tf.Variable(tf.ones((6, 4), tf.bfloat16), name="w")
    batch = (np.ones((5, 6), np.float32),)
    model = ModelSpec.from_function(
        lambda x: tf.reduce_mean(tf.cast(x, tf.bfloat16) @ weight), [weight], batch, name="b"
    )
    with pytest.raises(asl.InvalidInput, match="mixed_bfloat16"):
        runner.measure(model, asl.build_strategy("ps", model, runner.cluster), steps=1)
