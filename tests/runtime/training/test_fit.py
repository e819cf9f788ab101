"""Training with a strategy equals training in one process, also through checkpoints and lost workers."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import autosync_lab as asl
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime import Fitted, Runner, TrainingStep
from autosync_lab.runtime.pool import WorkerFailed
from autosync_lab.runtime.training import newest_checkpoint, read_checkpoint
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy
from tests.runtime.reference import Arrays, concatenated_training
from tests.runtime.training.small_models import RATE, data, reference_model, small_model

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

NODE = "localhost"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with asl.open_cluster(asl.load_cluster("local-2")) as opened:
        assert isinstance(opened, Runner)
        yield opened


@pytest.fixture(scope="module")
def model() -> ModelSpec:
    return small_model()


def strategy(model: ModelSpec, kind: str) -> Strategy:
    served = ParameterServer(NODE)
    entries = {
        "ps": lambda v: VariableStrategy(v.name, (served,)),
        "ar": lambda v: VariableStrategy(v.name, (AllReduce(1 if v.sparse else 0),)),
        "fp16-ef": lambda v: VariableStrategy(v.name, (AllReduce(0, "fp16-ef", "dense"),)),
        "cut": lambda v: (
            VariableStrategy(v.name, (ParameterServer(NODE, True), AllReduce(2, "none", "dense"), served), 0)
            if v.shape
            else VariableStrategy(v.name, (AllReduce(0),))
        ),
    }[kind]
    return Strategy(tuple(entries(v) for v in model.variables), 2)


def train(model: ModelSpec, runner: Runner, kind: str, steps: int, **settings: Any) -> Fitted:
    settings = {"optimizer": "adam", "learning_rate": RATE} | settings
    return asl.fit(model, strategy(model, kind), runner, data, steps, **settings)


def reference(model: ModelSpec, steps: int, optimizer: str = "adam") -> Arrays:
    return concatenated_training(reference_model(model), 2, steps, optimizer, RATE)


def assert_close(trained: Arrays, expected: Arrays, tolerance: float = 1e-10) -> None:
    assert set(trained) == set(expected)
    for name, value in expected.items():
        assert np.abs(trained[name] - value).max() <= tolerance * np.abs(value).max(), name


@pytest.mark.parametrize("kind", ["ps", "ar", "cut"])
def test_training_equals_one_process(runner: Runner, model: ModelSpec, kind: str) -> None:
    seen: list[TrainingStep] = []
    fitted = train(model, runner, kind, 7, on_step=seen.append)
    assert_close(fitted.parameters, reference(model, 7))
    assert [s.step for s in seen] == list(range(1, 8))
    assert [s.loss for s in seen] == list(fitted.losses)
    assert fitted.losses[-1] < fitted.losses[0]
    assert len(fitted.step_times_s) == 7
    assert all(s > 0 for s in fitted.step_times_s)
    assert (fitted.first_step, fitted.steps, fitted.checkpoint, fitted.notes) == (0, 7, None, ())


@pytest.mark.parametrize(("optimizer", "kinds"), [("adam", ("ps", "cut", "ar")), ("momentum", ("ar", "ps", "cut"))])
def test_a_checkpoint_goes_on_under_another_strategy(
    runner: Runner, model: ModelSpec, tmp_path: Path, optimizer: str, kinds: tuple[str, ...]
) -> None:
    for number, kind in enumerate(kinds):
        fitted = train(model, runner, kind, 3 * (number + 1), checkpoint=tmp_path, optimizer=optimizer)
        assert fitted.first_step == 3 * number
        assert len(fitted.losses) == 3
    assert_close(fitted.parameters, reference(model, 9, optimizer))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-3", "step-6", "step-9"]
    assert_close(read_checkpoint(tmp_path / "step-6").parameters, reference(model, 6, optimizer))


def test_error_feedback_goes_on(runner: Runner, model: ModelSpec, tmp_path: Path) -> None:
    at_once = train(model, runner, "fp16-ef", 6)
    for steps in (3, 6):
        in_two = train(model, runner, "fp16-ef", steps, checkpoint=tmp_path)
    assert_close(in_two.parameters, at_once.parameters, 1e-14)
    rounding = read_checkpoint(tmp_path / "step-3").snapshot.named("error", 1)["dense"]
    assert np.abs(rounding).max() > 0


def test_a_finished_call_returns_without_running(runner: Runner, model: ModelSpec, tmp_path: Path) -> None:
    first = train(model, runner, "ar", 2, checkpoint=tmp_path)

    def no_data(rank: int, replicas: int) -> list[Any]:
        raise AssertionError

    again = asl.fit(model, strategy(model, "ps"), runner.cluster, no_data, 2, optimizer="adam", checkpoint=tmp_path)
    assert_close(again.parameters, first.parameters, 0.0)
    assert again.losses == ()
    with pytest.raises(InvalidInput, match="already further"):
        train(model, runner, "ar", 1, checkpoint=tmp_path)


def test_a_killed_worker_changes_nothing(runner: Runner, model: ModelSpec, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(step: TrainingStep) -> None:
        if step.step == 6 and not killed:
            killed.append(runner.worker_pids[1])
            os.kill(killed[0], signal.SIGKILL)

    fitted = train(model, runner, "cut", 8, checkpoint=tmp_path, every=4, on_step=kill)
    assert killed
    assert not psutil.pid_exists(killed[0])
    assert_close(fitted.parameters, reference(model, 8))
    assert len(fitted.losses) == 8
    assert len(fitted.notes) == 1
    assert fitted.notes[0].startswith("after step ")


def test_it_gives_up_after_three_losses(runner: Runner, model: ModelSpec) -> None:
    lost: list[int] = []

    def kill(step: TrainingStep) -> None:
        if step.step == 2:
            lost.append(runner.worker_pids[0])
            os.kill(lost[-1], signal.SIGKILL)

    with pytest.raises(WorkerFailed, match="failed 3 times without getting past step"):
        train(model, runner, "ar", 50, on_step=kill)
    assert len(lost) == 3
    assert runner.worker_pids == {}


def test_an_interrupt_leaves_a_checkpoint_and_nothing_running(model: ModelSpec, tmp_path: Path) -> None:
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    handler = signal.getsignal(signal.SIGINT)

    def interrupt(step: TrainingStep) -> None:
        if step.step == 2:
            signal.raise_signal(signal.SIGINT)

    cluster = asl.load_cluster("local-2")
    with pytest.raises(KeyboardInterrupt):
        asl.fit(
            model,
            strategy(model, "cut"),
            cluster,
            data,
            1000,
            optimizer="adam",
            learning_rate=RATE,
            checkpoint=tmp_path,
            on_step=interrupt,
        )
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before
    assert signal.getsignal(signal.SIGINT) is handler
    path = newest_checkpoint(tmp_path)
    assert path is not None
    left = read_checkpoint(path)
    assert 2 <= left.about.step < 20
    assert_close(left.parameters, reference(model, left.about.step))


def test_failing_data_stops_training_and_is_named(runner: Runner, model: ModelSpec) -> None:
    asked_in: set[int] = set()

    def failing(rank: int, replicas: int) -> Iterator[Any]:
        asked_in.add(os.getpid())
        for number, batch in enumerate(data(rank, replicas)):
            if (rank, number) == (1, 6):
                raise OSError("no such file")
            yield batch

    with pytest.raises(InvalidInput, match="rank 1, batch 6: the data failed with OSError: no such file") as caught:
        asl.fit(model, strategy(model, "ps"), runner, failing, 50)
    assert isinstance(caught.value.__cause__, OSError)
    assert asked_in == {os.getpid()}
    assert runner.worker_pids == {}


def test_asynchronous_training_goes_on_from_a_checkpoint(runner: Runner, model: ModelSpec, tmp_path: Path) -> None:
    entries = tuple(VariableStrategy(v.name, (ParameterServer(NODE),)) for v in model.variables)
    loose = Strategy(entries, 2, synchronous=False, staleness=1)
    for steps in (10, 20):
        fitted = asl.fit(model, loose, runner, data, steps, learning_rate=RATE, checkpoint=tmp_path)
    assert fitted.first_step == 10
    expected = reference(model, 20, "sgd")
    # Gradients are up to a step old, so it is near one process, and nearer than where it began.
    for name, value in expected.items():
        began = np.abs(model.traced.values[name] - value).max()
        assert np.abs(fitted.parameters[name] - value).max() < 0.3 * began, name


def test_statistics_and_random_state_go_on_and_back_into_keras(runner: Runner, tmp_path: Path) -> None:
    import keras

    def build() -> keras.Model:
        layers = keras.layers
        made = keras.Sequential(
            [layers.Input((6,)), layers.Dense(5), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(1)]
        )
        made.build()
        return made

    rng = np.random.default_rng(4)
    x, y = rng.normal(2.0, 3.0, (10, 8, 6)).astype(np.float32), rng.normal(size=(10, 8, 1)).astype(np.float32)
    keras.utils.set_random_seed(1)
    network = build()
    captured = ModelSpec.from_keras(network, "mse", (x[0], y[0]))

    def pairs(rank: int, replicas: int) -> Any:
        import tensorflow as tf

        return tf.data.Dataset.from_tensor_slices((x[rank::replicas], y[rank::replicas]))

    chosen = asl.build_strategy("all-reduce", captured, runner.cluster)
    at_once = asl.fit(captured, chosen, runner, pairs, 4, seed=5)
    for steps in (2, 4):
        in_two = asl.fit(captured, chosen, runner, pairs, steps, seed=5, checkpoint=tmp_path)
    assert_close(in_two.parameters, at_once.parameters, 1e-6)
    for name, value in at_once.state.items():
        np.testing.assert_allclose(in_two.state[name], value, rtol=1e-6)

    target = build()
    in_two.assign_to(target)
    mean = target.layers[1].moving_mean.numpy()
    assert np.abs(mean).max() > 0
    assert any(np.array_equal(mean, value) for value in in_two.state.values())
    np.testing.assert_array_equal(target.layers[0].kernel.numpy(), in_two.parameters["dense/kernel"])
    with pytest.raises(InvalidInput, match="lacks a trained variable"):
        in_two.assign_to(keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(5)]))
