"""`bert-tiny`: a two-layer transformer over 8,000 words, whose token embedding has row gradients."""

from typing import Any

import keras

from autosync_lab.model.catalog.examples import BATCHES
from autosync_lab.model.catalog.full import bert


def build(
    batch: int = 8, dtype: str = "float32", batches: int = BATCHES
) -> tuple[keras.Model, Any, list[tuple[Any, Any]]]:
    """Two layers of width 128 on 32 words, with a classifier."""
    return bert.build(
        layers=2,
        hidden=128,
        vocabulary=8000,
        positions=32,
        length=32,
        classes=64,
        batch=batch,
        dtype=dtype,
        batches=batches,
    )
