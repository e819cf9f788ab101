"""Tokens: how one process tells others, inside the step, that something is done."""

import tensorflow as tf


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
        with tf.device(device):
            self._queue = tf.queue.FIFOQueue(
                capacity, [tf.bool], shapes=[()], shared_name=name, name=name
            )

    def release(self, count: int, after: list[tf.Operation]) -> tf.Operation:
        """Put `count` tokens in once `after` is done."""
        with tf.control_dependencies(after):
            return self._queue.enqueue_many([tf.fill([count], True)])

    def take(self, count: int, after: list[tf.Operation]) -> tf.Operation:
        """Wait for `count` tokens, from when `after` is done."""
        with tf.control_dependencies(after):
            return (
                self._queue.dequeue_many(count).op
                if count > 1
                else self._queue.dequeue().op
            )
