"""Image classifiers of keras.applications."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import draw_weights, generator, ids, repeat

CLASSES = 1000


def build(
    model: str, size: int, batch: int = 32, dtype: str = "float32", batches: int = 2
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """`keras.applications.<model>` without pre-trained weights, on square images of `size` pixels."""
    policy = keras.config.dtype_policy()
    # These networks take no dtype of their own.
    keras.config.set_dtype_policy(dtype)
    try:
        network = getattr(keras.applications, model)(weights=None, input_shape=(size, size, 3), classes=CLASSES)
    finally:
        keras.config.set_dtype_policy(policy)
    draw_weights(network, seed=6)
    rng = generator()
    return (
        network,
        keras.losses.SparseCategoricalCrossentropy(dtype=dtype),
        repeat(
            lambda: (rng.normal(size=(batch, size, size, 3)).astype(dtype), ids(rng, CLASSES, (batch,), None)), batches
        ),
    )
