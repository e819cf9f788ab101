"""After k steps every lossless synchronous strategy equals one process on the concatenated batch."""

from collections.abc import Iterator

import numpy as np
import pytest

import autosync_lab as asl
from autosync_lab.model.catalog import CATALOG, capture_catalog_model
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Runner
from autosync_lab.strategy import builder_card, builder_names
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy
from tests.runtime.clusters import fast_cluster
from tests.runtime.reference import Arrays, concatenated_training
from tests.strategies import random_strategy

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

STEPS = 5
RATE = 0.05
RANDOM = 4
"""Random strategies per model; `benchmarks/parity.py` tries 20."""
BENCH = [card.name for card in CATALOG.values() if card.bench]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with asl.open_cluster(fast_cluster()) as opened:
        yield opened


def worst_error(trained: list[Arrays], reference: Arrays) -> float:
    """Largest difference of any element on any replica, relative to the largest element of its variable."""
    return max(
        float(np.abs(parameters[name] - value).max() / np.abs(value).max())
        for parameters in trained
        for name, value in reference.items()
    )


def assert_parity(
    runner: Runner, model: ModelSpec, named: dict[str, Strategy], optimizer: str, tolerance: float
) -> None:
    reference = concatenated_training(model.traced, runner.cluster.replicas, STEPS, optimizer, RATE)
    wrong = {}
    for name, strategy in named.items():
        trial, trained = runner.train(model, strategy, steps=STEPS, optimizer=optimizer, learning_rate=RATE)
        assert trial.status == "ok", f"{name}: {trial.error}\n{trial.stderr_tail}"
        assert len(trained) == runner.cluster.replicas
        error = worst_error(trained, reference)
        if not error <= tolerance:
            wrong[name] = error
    assert wrong == {}


@pytest.mark.parametrize("name", BENCH)
def test_builders_and_random_strategies_equal_one_process(runner: Runner, name: str) -> None:
    model = asl.load_model(name)
    rng = np.random.default_rng(7)
    strategies = {b: asl.build_strategy(b, model, runner.cluster) for b in builder_names() if builder_card(b).lossless}
    strategies |= {f"random {i}": random_strategy(model, runner.cluster, rng) for i in range(RANDOM)}
    assert_parity(runner, model, strategies, "sgd", 1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adagrad"])
def test_every_optimizer_in_double_precision(runner: Runner, optimizer: str) -> None:
    model = capture_catalog_model("ncf-small", dtype="float64")
    rng = np.random.default_rng(8)
    strategies = {b: asl.build_strategy(b, model, runner.cluster) for b in ("ps", "parallax", "horovod")}
    strategies |= {f"random {i}": random_strategy(model, runner.cluster, rng) for i in range(2)}
    assert_parity(runner, model, strategies, optimizer, 1e-10)


@pytest.mark.parametrize("compressor", ["fp16", "bf16", "fp16-ef"])
@pytest.mark.parametrize("grouped", [False, True])
def test_lossy_compressors_stay_close(runner: Runner, compressor: str, grouped: bool) -> None:
    model = asl.load_model("bert-tiny")
    entries = tuple(
        VariableStrategy(v.name, (AllReduce(0 if grouped else None, compressor, "dense"),)) for v in model.variables
    )
    strategy = Strategy(entries, runner.cluster.replicas)
    # bfloat16 keeps 8 bits, float16 11.
    assert_parity(runner, model, {compressor: strategy}, "sgd", 4e-2 if compressor == "bf16" else 5e-3)


def linear_model() -> ModelSpec:
    """Its gradients do not depend on its variables, so stale ones are as good as fresh ones."""
    import tensorflow as tf

    rng = np.random.default_rng(9)
    dense = tf.Variable(rng.normal(size=(6, 3)).astype(np.float32), name="dense")
    table = tf.Variable(rng.normal(size=(50, 4)).astype(np.float32), name="table")

    def loss(x: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(x @ dense) + tf.reduce_mean(tf.gather(table, ids))

    batches = [
        (rng.normal(size=(8, 6)).astype(np.float32), rng.integers(0, 50, 5).astype(np.int64)) for _ in range(STEPS)
    ]
    return ModelSpec.from_function(loss, [dense, table], batches, name="linear")


@pytest.mark.parametrize("staleness", [None, 0, 2])
def test_asynchronous_servers_apply_every_push(runner: Runner, staleness: int | None) -> None:
    model = linear_model()
    entries = tuple(VariableStrategy(v.name, (ParameterServer("server0"),)) for v in model.variables)
    strategy = Strategy(entries, runner.cluster.replicas, synchronous=False, staleness=staleness)
    trial, trained = runner.train(model, strategy, steps=STEPS, learning_rate=RATE)
    assert trial.status == "ok", trial.error
    assert all(np.isfinite(trial.losses))
    reference = concatenated_training(model.traced, runner.cluster.replicas, STEPS, "sgd", RATE)
    # A sparse variable lives on its server alone, and the last push is the last thing that moves it.
    assert np.abs(trained[0]["table"] - reference["table"]).max() <= 1e-6
    moved = np.abs(trained[0]["table"] - model.traced.values["table"]).max()
    assert moved > 1e-3
