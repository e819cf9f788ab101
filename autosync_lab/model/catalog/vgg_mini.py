"""`vgg-mini`: like VGG, most parameters sit in two dense layers."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import generator, ids, repeat


def build(batch: int = 8, dtype: str = "float32") -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """Three small convolutions on 32 x 32 images, then dense layers of 1024 and 512."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    inputs = keras.Input((32, 32, 3), dtype=dtype)
    x = inputs
    for number, filters in enumerate((8, 16, 64)):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", dtype=dtype, name=f"conv{number}")(x)
        x = layers.MaxPooling2D(dtype=dtype)(x)
    x = layers.Flatten(dtype=dtype)(x)
    x = layers.Dense(1024, activation="relu", dtype=dtype, name="dense0")(x)
    x = layers.Dense(512, activation="relu", dtype=dtype, name="dense1")(x)
    outputs = layers.Dense(10, dtype=dtype, name="logits")(x)
    rng = generator()
    batches = repeat(lambda: (rng.normal(size=(batch, 32, 32, 3)).astype(dtype), ids(rng, 10, (batch,), None)))
    return (
        keras.Model(inputs, outputs),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype),
        batches,
    )
