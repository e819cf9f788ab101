"""`ncf-small`: four embeddings of which few rows are touched, and small dense layers."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES
from autosync_lab.model.catalog.full import ncf

ZIPF = 0.7
"""Popular users and items are drawn more often: about 850 of 1,024 draws are distinct."""


def build(
    batch: int = 1024, dtype: str = "float32", batches: int = BATCHES
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """20,000 users and 10,000 items, each with 32 factors and 32 numbers for the MLP."""
    return ncf.build(
        users=20_000,
        items=10_000,
        gmf=32,
        mlp=(64, 64, 32, 16),
        zipf=ZIPF,
        batch=batch,
        dtype=dtype,
        batches=batches,
    )
