"""Does a model trained with a strategy have the loss curve of one process on the concatenated batches?"""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

import autosync_lab as asl
from autosync_lab.strategy.spec import ParameterServer, Strategy, VariableStrategy

STEPS = 400
EXAMPLES = 32
RATE = 0.003
LAST = 20
"""Steps whose mean loss is called final."""


def network() -> keras.Model:
    """The same weights every time."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential(
        [layers.Input((20,)), layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(1)]
    )


def batch(rank: int, replicas: int, step: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Batch number `rank` of a step: a smooth function of 20 numbers, with noise."""
    rng = np.random.default_rng([rank, replicas, step])
    x = rng.normal(size=(EXAMPLES, 20)).astype(np.float32)
    y = np.sin(x[:, :5].sum(1)) + x[:, 5] * x[:, 6] + 0.1 * rng.normal(size=EXAMPLES)
    return x, y.astype(np.float32)[:, None]


def data(rank: int, replicas: int) -> Iterator[Any]:
    """What one replica is trained with."""
    return (batch(rank, replicas, step) for step in range(STEPS))


def one_process(replicas: int) -> npt.NDArray[np.float64]:
    """Loss of each step of Keras's own Adam on the replicas' batches put together."""
    model, optimizer, mse = network(), keras.optimizers.Adam(RATE), keras.losses.MeanSquaredError()

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = mse(y, model(x, training=True))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    losses = []
    for number in range(STEPS):
        parts = [batch(rank, replicas, number) for rank in range(replicas)]
        losses.append(float(step(*(tf.constant(np.concatenate(column)) for column in zip(*parts, strict=True)))))
    return np.array(losses)


def main() -> None:
    """One line per strategy: final loss, and the largest distance of its curve from that of one process."""
    cluster = asl.load_cluster("local-2")
    model = asl.ModelSpec.from_keras(network(), "mse", batch(0, 2, 0))
    served = tuple(VariableStrategy(v.name, (ParameterServer("localhost"),)) for v in model.variables)
    named = {name: asl.build_strategy(name, model, cluster) for name in ("ps", "partitioned-ps", "horovod")}
    named["horovod-fp16"] = asl.build_strategy("horovod-fp16", model, cluster)
    named["asynchronous ps"] = Strategy(served, cluster.replicas, synchronous=False)
    expected = one_process(cluster.replicas)
    print(f"one process: loss {expected[0]:.4f}, final {expected[-LAST:].mean():.5f}", flush=True)
    with asl.open_cluster(cluster) as runner:
        for name, strategy in named.items():
            fitted = asl.fit(model, strategy, runner, data, STEPS, optimizer="adam", learning_rate=RATE)
            losses = np.array(fitted.losses)
            distance = np.abs(losses / expected - 1).max()
            seconds = np.median(fitted.step_times_s)
            print(
                f"{name}: final {losses[-LAST:].mean():.5f}, largest distance {distance:.1e} of the loss, "
                f"{1e3 * seconds:.1f} ms a step",
                flush=True,
            )


if __name__ == "__main__":
    main()
