"""`resnet-mini`: like ResNet, over a hundred small variables.

It has no batch normalization, whose statistics would depend on how a batch is split: residual branches start at 0 through
a learned scale (SkipInit; De and Smith, NeurIPS 2020). Data-parallel training thus equals one process exactly.
"""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import generator, ids, repeat

BLOCKS = 7
WIDTHS = (16, 32, 48)


class Scale(keras.layers.Layer):
    """Multiplies by one learned number."""

    def build(self, input_shape: Any) -> None:
        del input_shape
        # Not exactly 0, so that every gradient is a real number from the first step on.
        self.scale = self.add_weight(shape=(), initializer=keras.initializers.Constant(0.1), name="scale")

    def call(self, x: Any) -> Any:
        return x * self.scale


def build(batch: int = 8, dtype: str = "float32") -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """Three stages of seven residual blocks on 16 x 16 images."""
    keras.utils.set_random_seed(2)
    layers = keras.layers
    inputs = keras.Input((16, 16, 3), dtype=dtype)
    x = layers.Conv2D(WIDTHS[0], 3, padding="same", dtype=dtype, name="stem")(inputs)
    for stage, width in enumerate(WIDTHS):
        if stage:
            x = layers.Conv2D(width, 2, strides=2, dtype=dtype, name=f"down{stage}")(x)
        for block in range(BLOCKS):
            name = f"stage{stage}_block{block}"
            y = layers.ReLU(dtype=dtype)(x)
            y = layers.Conv2D(width, 3, padding="same", activation="relu", dtype=dtype, name=f"{name}_a")(y)
            y = layers.Conv2D(width, 3, padding="same", dtype=dtype, name=f"{name}_b")(y)
            x = layers.Add(dtype=dtype)([x, Scale(dtype=dtype, name=f"{name}_scale")(y)])
    x = layers.GlobalAveragePooling2D(dtype=dtype)(x)
    outputs = layers.Dense(10, dtype=dtype, name="logits")(x)
    rng = generator()
    batches = repeat(lambda: (rng.normal(size=(batch, 16, 16, 3)).astype(dtype), ids(rng, 10, (batch,), None)))
    return (
        keras.Model(inputs, outputs),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype),
        batches,
    )
