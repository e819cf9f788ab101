"""Constants made once per graph and device: a graph has thousands of shards that need the same few."""

import weakref
from typing import Any

import tensorflow as tf

_made: "weakref.WeakKeyDictionary[tf.Graph, dict[Any, tf.Tensor]]" = weakref.WeakKeyDictionary()


def constant(value: Any, dtype: Any, device: str) -> tf.Tensor:
    """The constant `value` (a number, or a tuple of numbers) on `device`, in the default graph."""
    made = _made.setdefault(tf.compat.v1.get_default_graph(), {})
    key = (value, tf.as_dtype(dtype), device)
    if key not in made:
        with tf.control_dependencies(None), tf.device(device):
            made[key] = tf.constant(value, dtype)
    return made[key]
