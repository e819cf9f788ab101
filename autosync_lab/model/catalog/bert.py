"""BERT encoders, with the variables of keras-hub's BertBackbone and a classifier on the pooled output.

Dropout is left out: it changes no variable, and without it a step is the same in every process.
"""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, generator, ids, repeat

ZIPF = 1.0
"""Words of a text are about as frequent as their rank's inverse."""


class PositionEmbedding(keras.layers.Layer):
    """Adds a learned vector for each position."""

    def __init__(self, positions: int, **options: Any) -> None:
        super().__init__(**options)
        self.positions = positions

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight(
            shape=(self.positions, input_shape[-1]),
            initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name="embeddings",
        )

    def call(self, x: Any) -> Any:
        return x + self.embeddings[: x.shape[1]]


def build(
    layers: int,
    hidden: int,
    heads: int,
    intermediate: int,
    vocabulary: int = 30_522,
    positions: int = 512,
    length: int = 128,
    batch: int = 32,
    classes: int = 2,
    dtype: str = "float32",
    with_head: bool = True,
    batches: int = BATCHES,
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """A classifier of token sequences; without its head, exactly the published encoder (its pooled output is the loss)."""
    keras.utils.set_random_seed(3)
    keras_layers = keras.layers
    normal = keras.initializers.TruncatedNormal(stddev=0.02)
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    segments = keras.Input((length,), dtype="int32", name="segments")
    embedded = keras_layers.Embedding(
        vocabulary, hidden, embeddings_initializer=normal, dtype=dtype, name="token_embedding"
    )(tokens)
    positioned = PositionEmbedding(positions, dtype=dtype, name="position_embedding")(embedded)
    # Two rows are better multiplied than looked up: their gradient is dense.
    one_hot = keras_layers.CategoryEncoding(num_tokens=2, output_mode="one_hot", dtype=dtype)(segments)
    segment = keras_layers.Dense(hidden, use_bias=False, dtype=dtype, name="segment_embedding")(one_hot)
    x = keras_layers.LayerNormalization(epsilon=1e-12, dtype=dtype, name="embeddings_layer_norm")(positioned + segment)
    for number in range(layers):
        name = f"layer{number}"
        attended = keras_layers.MultiHeadAttention(
            heads, hidden // heads, kernel_initializer=normal, dtype=dtype, name=f"{name}_attention"
        )(x, x)
        x = keras_layers.LayerNormalization(epsilon=1e-12, dtype=dtype, name=f"{name}_attention_norm")(x + attended)
        wide = keras_layers.Dense(
            intermediate, activation="gelu", kernel_initializer=normal, dtype=dtype, name=f"{name}_intermediate"
        )(x)
        narrow = keras_layers.Dense(hidden, kernel_initializer=normal, dtype=dtype, name=f"{name}_output")(wide)
        x = keras_layers.LayerNormalization(epsilon=1e-12, dtype=dtype, name=f"{name}_output_norm")(x + narrow)
    pooled = keras_layers.Dense(hidden, activation="tanh", kernel_initializer=normal, dtype=dtype, name="pooled")(
        x[:, 0]
    )
    outputs = pooled
    loss: Any = "mse"
    if with_head:
        outputs = keras_layers.Dense(classes, kernel_initializer=normal, dtype=dtype, name="classifier")(pooled)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype)
    rng = generator()

    def one() -> tuple[Any, Any]:
        words = ids(rng, vocabulary, (batch, length), ZIPF)
        halves = ids(rng, 2, (batch, length), None)
        target = ids(rng, classes, (batch,), None) if with_head else rng.normal(size=(batch, hidden)).astype(dtype)
        return (words, halves), target

    return keras.Model((tokens, segments), outputs), loss, repeat(one, batches)
