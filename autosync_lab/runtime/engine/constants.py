"""Constants made once per graph and device: a graph has thousands of shards that need the same few."""

from typing import Any

import tensorflow as tf

COLLECTION = "autosync_lab/constants"
"""The graph keeps its own constants: kept elsewhere, they would keep the graph alive."""


def constant(value: Any, dtype: Any, device: str) -> tf.Tensor:
    """The constant `value` (a number, or a tuple of numbers) on `device`, in the default graph."""
    kept: list[dict[Any, tf.Tensor]] = tf.compat.v1.get_collection_ref(COLLECTION)
    if not kept:
        kept.append({})
    made = kept[0]
    key = (value, tf.as_dtype(dtype), device)
    if key not in made:
        with tf.control_dependencies(None), tf.device(device):
            made[key] = tf.constant(value, dtype)
    return made[key]
