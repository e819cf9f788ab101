"""Optimizers applied to one shard, with Keras 3's formulas and defaults.

A sparse gradient means the dense gradient with zeros in the rows that it does not name, as in Keras 3: momentum and
Adam therefore also move rows that no replica touched. Only for SGD and Adagrad is that the same as updating the touched
rows alone, so only there are other rows left alone.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import tensorflow as tf

from autosync_lab.runtime.engine.constants import constant
from autosync_lab.runtime.engine.labels import OWN

MOMENTUM = 0.9
ADAM_BETA_1, ADAM_BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-7
ADAGRAD_INITIAL, ADAGRAD_EPSILON = 0.1, 1e-7


class Shard:
    """A variable of the graph: a resource handle on some device, with its initial value fed once.

    Parameters
    ----------
    name : str
        Shared name: processes that use one name on one device share the variable.
    shape : tuple of int
    dtype : str
    device : str
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str, device: str) -> None:
        self.name = name
        self.shape = shape
        self.dtype = tf.as_dtype(dtype)
        self.device = device
        with tf.device(device):
            self.handle = tf.raw_ops.VarHandleOp(dtype=self.dtype, shape=shape, shared_name=name)

    def read(self) -> tf.Tensor:
        """The present value, read where the variable lives."""
        with tf.device(self.device):
            value = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=self.dtype)
        value.set_shape(self.shape)
        return value

    def assign(self, value: tf.Tensor) -> tf.Operation:
        """Overwrite the variable."""
        with tf.device(self.device):
            return tf.raw_ops.AssignVariableOp(resource=self.handle, value=value)

    def add(self, delta: tf.Tensor) -> tf.Operation:
        """Add to the variable."""
        with tf.device(self.device):
            return tf.raw_ops.AssignAddVariableOp(resource=self.handle, value=delta)

    def add_rows(self, rows: tf.Tensor, delta: tf.Tensor) -> tf.Operation:
        """Add to some rows; a row named twice gets both."""
        with tf.device(self.device):
            return tf.raw_ops.ResourceScatterAdd(resource=self.handle, indices=rows, updates=delta)

    def gather(self, rows: tf.Tensor) -> tf.Tensor:
        """Some rows, gathered where the variable lives."""
        with tf.device(self.device):
            return tf.raw_ops.ResourceGather(resource=self.handle, indices=rows, dtype=self.dtype)


class ShardOptimizer(ABC):
    """Update rule of one shard: create it beside the shard, feed `initial_values`, then call one of the two `apply`s.

    Parameters
    ----------
    shard : Shard
    learning_rate : float
    """

    slot_initials: dict[str, float] = {}

    def __init__(self, shard: Shard, learning_rate: float) -> None:
        self.shard = shard
        self.learning_rate = learning_rate
        self.slots = {
            slot: Shard(f"{shard.name}{OWN}{slot}", shard.shape, shard.dtype.name, shard.device)
            for slot in self.slot_initials
        }

    def initial_values(self) -> dict[str, tuple[Shard, Any]]:
        """Every variable that the rule keeps, with its first value, by what it is called in a checkpoint."""
        return {
            slot: (shard, np.full(shard.shape, self.slot_initials[slot], shard.dtype.as_numpy_dtype))
            for slot, shard in self.slots.items()
        }

    @abstractmethod
    def apply(self, gradient: tf.Tensor) -> tf.Operation:
        """Update the whole shard by a dense gradient."""

    def number(self, value: float) -> tf.Tensor:
        """A constant in the shard's own dtype and place (a cast from float32 would lose digits)."""
        return constant(value, self.shard.dtype, self.shard.device)

    def apply_rows(self, values: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
        """Update the shard by the gradient of some rows."""
        with tf.device(self.shard.device):
            dense = tf.math.unsorted_segment_sum(values, rows, self.shard.shape[0])
        dense.set_shape(self.shard.shape)
        return self.apply(dense)


class SGD(ShardOptimizer):
    """w -= lr g."""

    def apply(self, gradient: tf.Tensor) -> tf.Operation:
        with tf.device(self.shard.device):
            return tf.raw_ops.ResourceApplyGradientDescent(
                var=self.shard.handle,
                alpha=self.number(self.learning_rate),
                delta=gradient,
            )

    def apply_rows(self, values: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
        with tf.device(self.shard.device):
            return self.shard.add_rows(rows, values * self.number(-self.learning_rate))


class Momentum(ShardOptimizer):
    """m = 0.9 m - lr g; w += m."""

    slot_initials = {"momentum": 0.0}

    def apply(self, gradient: tf.Tensor) -> tf.Operation:
        slot = self.slots["momentum"]
        with tf.device(self.shard.device):
            moved = slot.read() * self.number(MOMENTUM) - gradient * self.number(self.learning_rate)
            return tf.group(slot.assign(moved), self.shard.add(moved))


class Adam(ShardOptimizer):
    """Adam with bias correction in the step size (Kingma and Ba 2015, end of section 2), as Keras computes it."""

    slot_initials = {"first_moment": 0.0, "second_moment": 0.0}

    def __init__(self, shard: Shard, learning_rate: float) -> None:
        super().__init__(shard, learning_rate)
        self.step = Shard(f"{shard.name}{OWN}step", (), "float64", shard.device)

    def initial_values(self) -> dict[str, tuple[Shard, Any]]:
        return super().initial_values() | {"step": (self.step, np.zeros((), np.float64))}

    def apply(self, gradient: tf.Tensor) -> tf.Operation:
        dtype = self.shard.dtype
        first, second = self.slots["first_moment"], self.slots["second_moment"]
        with tf.device(self.shard.device):
            step = self.step.read() + 1.0
            rate = self.learning_rate * tf.sqrt(1 - ADAM_BETA_2**step) / (1 - ADAM_BETA_1**step)
            mean = first.read()
            mean = mean + (gradient - mean) * self.number(1 - ADAM_BETA_1)
            square = second.read()
            square = square + (gradient * gradient - square) * self.number(1 - ADAM_BETA_2)
            delta = -tf.cast(rate, dtype) * mean / (tf.sqrt(square) + self.number(ADAM_EPSILON))
            return tf.group(
                first.assign(mean),
                second.assign(square),
                self.step.assign(step),
                self.shard.add(delta),
            )


class Adagrad(ShardOptimizer):
    """a += g^2; w -= lr g / sqrt(a + epsilon)."""

    slot_initials = {"accumulator": ADAGRAD_INITIAL}

    def apply(self, gradient: tf.Tensor) -> tf.Operation:
        slot = self.slots["accumulator"]
        with tf.device(self.shard.device):
            total = slot.read() + gradient * gradient
            return tf.group(slot.assign(total), self.shard.add(self._delta(gradient, total)))

    def apply_rows(self, values: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
        slot = self.slots["accumulator"]
        with tf.device(self.shard.device):
            unique, position = tf.unique(rows, out_idx=tf.int64)
            summed = tf.math.unsorted_segment_sum(values, position, tf.size(unique))
            with tf.control_dependencies([slot.add_rows(unique, summed * summed)]):
                total = slot.gather(unique)
            return self.shard.add_rows(unique, self._delta(summed, total))

    def _delta(self, gradient: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
        return -self.number(self.learning_rate) * gradient / tf.sqrt(total + self.number(ADAGRAD_EPSILON))


SHARD_OPTIMIZERS: dict[str, type[ShardOptimizer]] = {
    "sgd": SGD,
    "momentum": Momentum,
    "adam": Adam,
    "adagrad": Adagrad,
}
