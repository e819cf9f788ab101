"""`lm-small`: a language model whose embedding is most of it, with a real recurrent loop."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, draw_weights, generator, ids, repeat

VOCABULARY = 30_000
WIDTH = 64
UNITS = 64
CLASSES = 256
"""It predicts only among the most frequent words, so that the output layer stays small."""

ZIPF = 1.0
"""Words of a text are about as frequent as their rank's inverse."""


def build(
    batch: int = 64, length: int = 16, dtype: str = "float32", batches: int = BATCHES
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """An embedding of 30,000 words, an LSTM, and a prediction among 256 words."""
    layers = keras.layers
    words = keras.Input((length,), dtype="int32", name="words")
    x = layers.Embedding(VOCABULARY, WIDTH, dtype=dtype, name="embedding")(words)
    x = layers.LSTM(UNITS, dtype=dtype, name="lstm")(x)
    outputs = layers.Dense(CLASSES, dtype=dtype, name="logits")(x)
    model = keras.Model(words, outputs)
    draw_weights(model, seed=5)
    rng = generator()
    return (
        model,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype),
        repeat(lambda: (ids(rng, VOCABULARY, (batch, length), ZIPF), ids(rng, CLASSES, (batch,), ZIPF)), batches),
    )
