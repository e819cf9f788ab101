"""BERT encoders, with the variables of keras-hub's BertBackbone.

Dropout is left out: it has no variable, and without it a step is the same in every process. The token embedding has row
gradients. The segment embedding has two rows: it is multiplied, so its gradient is dense, like that of the positions.
"""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, draw_weights, generator, ids, repeat

ZIPF = 1.0
"""Words of a text are about as frequent as their rank's inverse."""


HEAD_WIDTH = 64
"""Width of one attention head, in all published sizes."""


class PositionEmbedding(keras.layers.Layer):
    """Adds a learned vector for each position."""

    def __init__(self, positions: int, **options: Any) -> None:
        super().__init__(**options)
        self.positions = positions

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight(
            shape=(self.positions, input_shape[-1]), initializer="zeros", name="embeddings"
        )

    def call(self, x: Any) -> Any:
        return x + self.embeddings[: x.shape[1]]


def build(
    layers: int,
    hidden: int,
    vocabulary: int = 30_522,
    positions: int = 512,
    length: int = 128,
    batch: int = 32,
    classes: int | None = None,
    dtype: str = "float32",
    batches: int = BATCHES,
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """An encoder of token sequences.

    With `classes` it ends in a classifier. Without, it is exactly the published encoder, and the loss compares its
    pooled output with given vectors.
    """
    keras_layers = keras.layers
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    segments = keras.Input((length,), dtype="int32", name="segments")
    embedded = keras_layers.Embedding(vocabulary, hidden, dtype=dtype, name="token_embedding")(tokens)
    one_hot = keras_layers.CategoryEncoding(num_tokens=2, output_mode="one_hot", dtype=dtype)(segments)
    segment = keras_layers.Dense(hidden, use_bias=False, dtype=dtype, name="segment_embedding")(one_hot)
    x = PositionEmbedding(positions, dtype=dtype, name="position_embedding")(embedded) + segment
    x = keras_layers.LayerNormalization(epsilon=1e-12, dtype=dtype, name="embeddings_norm")(x)
    for number in range(layers):
        name = f"layer{number}"
        y = keras_layers.MultiHeadAttention(
            hidden // HEAD_WIDTH, HEAD_WIDTH, flash_attention=False, dtype=dtype, name=f"{name}_attention"
        )(x, x)
        x = keras_layers.LayerNormalization(epsilon=1e-12, dtype=dtype, name=f"{name}_attention_norm")(x + y)
        y = keras_layers.Dense(4 * hidden, activation="gelu", dtype=dtype, name=f"{name}_intermediate")(x)
        y = keras_layers.Dense(hidden, dtype=dtype, name=f"{name}_output")(y)
        x = keras_layers.LayerNormalization(epsilon=1e-12, dtype=dtype, name=f"{name}_output_norm")(x + y)
    outputs = keras_layers.Dense(hidden, activation="tanh", dtype=dtype, name="pooled")(x[:, 0])
    loss: Any = keras.losses.MeanSquaredError(dtype=dtype)
    if classes is not None:
        outputs = keras_layers.Dense(classes, dtype=dtype, name="classifier")(outputs)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    model = keras.Model((tokens, segments), outputs)
    draw_weights(model, seed=3)
    rng = generator()

    def one() -> tuple[Any, Any]:
        words = ids(rng, vocabulary, (batch, length), ZIPF)
        halves = ids(rng, 2, (batch, length), None)
        if classes is not None:
            return (words, halves), ids(rng, classes, (batch,), None)
        return (words, halves), rng.normal(size=(batch, hidden)).astype(dtype)

    return model, loss, repeat(one, batches)
