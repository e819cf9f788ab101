"""`lm-small`: a language model whose embedding is most of it, with a real recurrent loop."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import generator, ids, repeat

VOCABULARY = 20_000
WIDTH = 256
UNITS = 64
CLASSES = 256
ZIPF = 1.0


def build(batch: int = 16, length: int = 12, dtype: str = "float32") -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """Embedding of 20,000 words, an LSTM, and a prediction among the 256 most frequent classes."""
    keras.utils.set_random_seed(5)
    layers = keras.layers
    words = keras.Input((length,), dtype="int32", name="words")
    x = layers.Embedding(VOCABULARY, WIDTH, dtype=dtype, name="embedding")(words)
    x = layers.LSTM(UNITS, dtype=dtype, name="lstm")(x)
    outputs = layers.Dense(CLASSES, dtype=dtype, name="logits")(x)
    rng = generator()
    batches = repeat(lambda: (ids(rng, VOCABULARY, (batch, length), ZIPF), ids(rng, CLASSES, (batch,), ZIPF)))
    return (
        keras.Model(words, outputs),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype),
        batches,
    )
