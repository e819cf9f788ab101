"""`vgg-mini`: like VGG, most parameters sit in two dense layers."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, draw_weights, generator, ids, repeat

FILTERS = (8, 16, 64)
UNITS = (1280, 768)
CLASSES = 10


def build(
    batch: int = 8, dtype: str = "float32", batches: int = BATCHES
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """Three small convolutions on 32 x 32 images, then dense layers of 1280 and 768."""
    layers = keras.layers
    inputs = keras.Input((32, 32, 3), dtype=dtype)
    x = inputs
    for number, filters in enumerate(FILTERS):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", dtype=dtype, name=f"conv{number}")(x)
        x = layers.MaxPooling2D(dtype=dtype)(x)
    x = layers.Flatten(dtype=dtype)(x)
    for number, units in enumerate(UNITS):
        x = layers.Dense(units, activation="relu", dtype=dtype, name=f"dense{number}")(x)
    outputs = layers.Dense(CLASSES, dtype=dtype, name="logits")(x)
    model = keras.Model(inputs, outputs)
    draw_weights(model, seed=1)
    rng = generator()
    return (
        model,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype),
        repeat(lambda: (rng.normal(size=(batch, 32, 32, 3)).astype(dtype), ids(rng, CLASSES, (batch,), None)), batches),
    )
