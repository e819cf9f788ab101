"""`resnet-mini`: like ResNet, over a hundred small variables.

It has no batch normalization, whose statistics depend on how a batch is split: residual branches are scaled by a small
learned number (as in SkipInit; De and Smith, NeurIPS 2020). So data-parallel training equals one process on the whole
batch. Group normalization would be independent of the split too, but it magnifies rounding. Activations are smooth:
where rounding moves a ReLU to the other side of its kink, gradients differ by a hundred times more than rounding.
"""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, draw_weights, generator, ids, repeat

BLOCKS = 7
WIDTHS = (16, 32, 48)
CLASSES = 10
BRANCH_SHARE = 0.1
"""Of a residual branch at first. A fixed factor beside a learned one that starts at 1: a learned number that starts at
0, as in the paper, or close to it has large relative errors when it comes near 0 again."""


class Scale(keras.layers.Layer):
    """Multiplies by `BRANCH_SHARE` times one learned number."""

    def build(self, input_shape: Any) -> None:
        del input_shape
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, x: Any) -> Any:
        return x * (self.scale * BRANCH_SHARE)


def build(
    batch: int = 8, dtype: str = "float32", batches: int = BATCHES
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """Three stages of seven residual blocks on 16 x 16 images."""
    layers = keras.layers
    inputs = keras.Input((16, 16, 3), dtype=dtype)
    x = layers.Conv2D(WIDTHS[0], 3, padding="same", dtype=dtype, name="stem")(inputs)
    scales = []
    for stage, width in enumerate(WIDTHS):
        if stage:
            x = layers.Conv2D(width, 2, strides=2, dtype=dtype, name=f"down{stage}")(x)
        for block in range(BLOCKS):
            name = f"stage{stage}_block{block}"
            y = layers.Activation("silu", dtype=dtype, name=f"{name}_silu")(x)
            y = layers.Conv2D(width, 3, padding="same", activation="silu", dtype=dtype, name=f"{name}_a")(y)
            y = layers.Conv2D(width, 3, padding="same", dtype=dtype, name=f"{name}_b")(y)
            scales.append(Scale(dtype=dtype, name=f"{name}_scale"))
            x = layers.Add(dtype=dtype, name=f"{name}_add")([x, scales[-1](y)])
    x = layers.GlobalAveragePooling2D(dtype=dtype)(x)
    outputs = layers.Dense(CLASSES, dtype=dtype, name="logits")(x)
    model = keras.Model(inputs, outputs)
    draw_weights(model, seed=2)
    for scale in scales:
        scale.scale.assign(1.0)
    rng = generator()
    return (
        model,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype),
        repeat(lambda: (rng.normal(size=(batch, 16, 16, 3)).astype(dtype), ids(rng, CLASSES, (batch,), None)), batches),
    )
