"""Neural collaborative filtering: matrix factorization and an MLP over user and item embeddings."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES, draw_weights, generator, ids, repeat


class DenseEmbedding(keras.layers.Layer):
    """An embedding whose gradient is a dense matrix, as frameworks without row gradients make it."""

    def __init__(self, rows: int, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.rows, self.width = rows, width

    def build(self, input_shape: Any) -> None:
        del input_shape
        self.embeddings = self.add_weight(shape=(self.rows, self.width), initializer="zeros", name="embeddings")

    def call(self, numbers: Any) -> Any:
        # The product stands between table and lookup, so the gradient of the table is that of a product.
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
    """NeuMF: `gmf` factors, and an MLP whose first width is that of a user's and an item's embedding together."""
    layers = keras.layers
    user = keras.Input((), dtype="int32", name="user")
    item = keras.Input((), dtype="int32", name="item")

    def embedding(rows: int, width: int, name: str) -> Any:
        kind = DenseEmbedding if dense else layers.Embedding
        return kind(rows, width, dtype=dtype, name=name)

    factors = layers.Multiply(dtype=dtype)(
        [embedding(users, gmf, "user_gmf")(user), embedding(items, gmf, "item_gmf")(item)]
    )
    half = mlp[0] // 2
    x = layers.Concatenate(dtype=dtype)(
        [embedding(users, half, "user_mlp")(user), embedding(items, half, "item_mlp")(item)]
    )
    for number, width in enumerate(mlp[1:]):
        x = layers.Dense(width, activation="relu", dtype=dtype, name=f"mlp{number}")(x)
    outputs = layers.Dense(1, dtype=dtype, name="score")(layers.Concatenate(dtype=dtype)([factors, x]))
    model = keras.Model((user, item), outputs)
    draw_weights(model, seed=4)
    rng = generator()

    def one() -> tuple[Any, Any]:
        pair = ids(rng, users, (batch,), zipf), ids(rng, items, (batch,), zipf)
        return pair, rng.integers(0, 2, (batch, 1)).astype(dtype)

    return model, keras.losses.BinaryCrossentropy(from_logits=True, dtype=dtype), repeat(one, batches)
