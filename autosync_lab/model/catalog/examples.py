"""Seeded examples and first values for the catalog's models: the same in every process."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

BATCHES = 16
SEED = 20_200

GAIN = math.sqrt(2.0)
"""He et al., ICCV 2015: keeps the variance of activations through layers that cut their negative half."""

BIAS_DEVIATION = 0.02
EMBEDDING_DEVIATION = 0.05


def generator() -> np.random.Generator:
    """The same examples in every process."""
    return np.random.default_rng(SEED)


def frequencies(count: int, zipf: float | None) -> npt.NDArray[np.float64]:
    """Probability of each of `count` ids, shape [count]: uniform, or falling as rank^-zipf."""
    weights = np.ones(count) if zipf is None else np.arange(1, count + 1, dtype=float) ** -zipf
    return weights / weights.sum()


def ids(rng: np.random.Generator, count: int, shape: tuple[int, ...], zipf: float | None) -> npt.NDArray[np.int32]:
    """Ids below `count`, drawn with `frequencies`; which ids are frequent has nothing to do with their order."""
    if zipf is None:
        return rng.integers(0, count, shape, dtype=np.int32)
    cumulative = np.cumsum(frequencies(count, zipf))
    ranks = np.minimum(np.searchsorted(cumulative, rng.random(shape)), count - 1)
    by_rank = np.random.default_rng(count).permutation(count).astype(np.int32)
    return by_rank[ranks]


def expected_rows(count: int, draws: int, zipf: float | None) -> float:
    """Expected number of distinct ids among `draws` independent ones: the sum over all ids of 1 - (1 - p)^draws."""
    return float(np.sum(-np.expm1(draws * np.log1p(-frequencies(count, zipf)))))


def repeat(make: Callable[[], tuple[Any, Any]], batches: int = BATCHES) -> list[tuple[Any, Any]]:
    """Several batches of a function that makes one."""
    return [make() for _ in range(batches)]


def draw_weights(model: Any, seed: int) -> None:
    """Give every trainable variable a seeded value, without touching any global random state.

    Biases are not 0, as they would be by default: relative errors of parameters then mean something for all of them.

    Parameters
    ----------
    model : keras.Model
    seed : int
    """
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        shape = tuple(variable.shape)
        value = rng.standard_normal(shape)
        kind = variable.path.rsplit("/", 1)[-1]
        if kind == "gamma":
            value = 1.0 + BIAS_DEVIATION * value
        elif kind == "embeddings":
            value *= EMBEDDING_DEVIATION
        elif len(shape) < 2 or kind in ("bias", "beta"):
            value *= BIAS_DEVIATION
        else:
            value *= GAIN / math.sqrt(math.prod(shape[:-1]))
        variable.assign(value)
