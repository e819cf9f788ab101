"""A small model with a dense and a sparse variable, and data that is not what it was captured with."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.traced import TracedModel

RATE = 0.05
BATCHES = 16


def batches(seed: int, count: int = BATCHES) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(8, 6)), rng.integers(0, 20, 8)) for _ in range(count)]


def small_model() -> ModelSpec:
    """In double precision, so that parity is exact but for the order of sums."""
    import tensorflow as tf

    rng = np.random.default_rng(1)
    dense = tf.Variable(rng.normal(size=(6, 4)), name="dense")
    bias = tf.Variable(rng.normal(size=4), name="bias")
    scale = tf.Variable(1.5, dtype=tf.float64, name="scale")
    table = tf.Variable(rng.normal(size=(20, 4)), name="table")

    def loss(x: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.square(tf.tanh(x @ dense + bias) * scale - tf.gather(table, ids)))

    return ModelSpec.from_function(loss, [dense, bias, scale, table], batches(2, 1), name="small")


def data(rank: int, replicas: int) -> Iterator[tuple[Any, ...]]:
    """Every `replicas`-th batch, without an end."""
    while True:
        yield from batches(3)[rank::replicas]


def reference_model(model: ModelSpec) -> TracedModel:
    """The traced model whose own examples are `data`'s batches, in the same turns."""
    columns = zip(*batches(3), strict=True)
    return replace(model.traced, examples=tuple(np.stack(column) for column in columns))
