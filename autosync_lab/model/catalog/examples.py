"""Seeded examples for the catalog's models."""

from typing import Any

import numpy as np
import numpy.typing as npt

BATCHES = 16
SEED = 20_200


def generator() -> np.random.Generator:
    """The same examples in every process."""
    return np.random.default_rng(SEED)


def ids(rng: np.random.Generator, count: int, shape: tuple[int, ...], zipf: float | None) -> npt.NDArray[np.int32]:
    """Ids below `count`: uniform, or with frequencies falling as rank^-zipf (rank 0 the most frequent)."""
    if zipf is None:
        return rng.integers(0, count, shape, dtype=np.int32)
    weights = np.arange(1, count + 1, dtype=float) ** -zipf
    cumulative = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(cumulative, rng.random(shape)), count - 1).astype(np.int32)


def repeat(make: Any, batches: int = BATCHES) -> list[tuple[Any, Any]]:
    """Several batches of a function that makes one."""
    return [make() for _ in range(batches)]
