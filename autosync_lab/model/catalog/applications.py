"""Image classifiers of keras.applications at their true size."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import generator, ids, repeat


def build(
    model: str, size: int, batch: int, classes: int = 1000, batches: int = 2
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """`keras.applications.<model>` without pre-trained weights."""
    keras.utils.set_random_seed(6)
    network = getattr(keras.applications, model)(weights=None, input_shape=(size, size, 3), classes=classes)
    rng = generator()
    examples = repeat(
        lambda: (rng.normal(size=(batch, size, size, 3)).astype("float32"), ids(rng, classes, (batch,), None)), batches
    )
    return network, "sparse_categorical_crossentropy", examples
