"""Tokens: how one process tells others, inside the step, that something is done."""

import tensorflow as tf

from autosync_lab.runtime.engine.constants import constant


class Tokens:
    """A shared queue of tokens on one process.

    Parameters
    ----------
    name : str
        Shared name.
    device : str
        Where the queue lives.
    capacity : int
        Tokens that fit.
    """

    def __init__(self, name: str, device: str, capacity: int) -> None:
        self._device = device
        with tf.device(device):
            self._queue = tf.raw_ops.FIFOQueueV2(
                component_types=[tf.bool], shapes=[()], capacity=capacity, shared_name=name
            )

    def release(self, count: int, after: list[tf.Operation]) -> tf.Operation:
        """Put `count` tokens in once `after` is done."""
        tokens = constant((True,) * count, tf.bool, self._device)
        with tf.device(self._device), tf.control_dependencies(after):
            return tf.raw_ops.QueueEnqueueManyV2(handle=self._queue, components=[tokens])

    def take(self, after: list[tf.Operation]) -> tf.Operation:
        """Wait for a token, from when `after` is done."""
        with tf.device(self._device), tf.control_dependencies(after):
            return tf.raw_ops.QueueDequeueV2(handle=self._queue, component_types=[tf.bool])[0].op
