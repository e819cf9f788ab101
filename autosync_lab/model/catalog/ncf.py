"""Neural collaborative filtering: matrix factorization and an MLP over user and item embeddings."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, generator, ids, repeat


class DenseEmbedding(keras.layers.Layer):
    """An embedding whose gradient is a dense matrix, as frameworks without row gradients make it."""

    def __init__(self, rows: int, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.rows, self.width = rows, width

    def build(self, input_shape: Any) -> None:
        del input_shape
        self.embeddings = self.add_weight(
            shape=(self.rows, self.width), initializer=keras.initializers.RandomNormal(stddev=0.01), name="embeddings"
        )

    def call(self, numbers: Any) -> Any:
        return keras.ops.take(self.embeddings * 1.0, numbers, axis=0)


def build(
    users: int,
    items: int,
    gmf: int,
    mlp: tuple[int, ...],
    batch: int,
    zipf: float | None,
    dense: bool = False,
    dtype: str = "float32",
    batches: int = BATCHES,
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """NeuMF: `gmf` factors, and an MLP whose first layer takes embeddings of half its width each."""
    keras.utils.set_random_seed(4)
    layers = keras.layers
    small = keras.initializers.RandomNormal(stddev=0.01)
    user = keras.Input((), dtype="int32", name="user")
    item = keras.Input((), dtype="int32", name="item")

    def embedding(rows: int, width: int, name: str) -> Any:
        if dense:
            return DenseEmbedding(rows, width, dtype=dtype, name=name)
        return layers.Embedding(rows, width, embeddings_initializer=small, dtype=dtype, name=name)

    factors = embedding(users, gmf, "user_gmf")(user) * embedding(items, gmf, "item_gmf")(item)
    half = mlp[0] // 2
    x = layers.Concatenate(dtype=dtype)(
        [embedding(users, half, "user_mlp")(user), embedding(items, half, "item_mlp")(item)]
    )
    for number, width in enumerate(mlp[1:]):
        x = layers.Dense(width, activation="relu", dtype=dtype, name=f"mlp{number}")(x)
    joined = layers.Concatenate(dtype=dtype)([factors, x])
    outputs = layers.Dense(1, dtype=dtype, name="score")(joined)
    rng = generator()

    def one() -> tuple[Any, Any]:
        pair = ids(rng, users, (batch,), zipf), ids(rng, items, (batch,), zipf)
        return pair, rng.integers(0, 2, (batch, 1)).astype(dtype)

    return (
        keras.Model((user, item), outputs),
        keras.losses.BinaryCrossentropy(from_logits=True, dtype=dtype),
        repeat(one, batches),
    )
