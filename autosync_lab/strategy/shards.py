"""How a variable is cut into shards."""

import math

from autosync_lab.model.variable import Variable
from autosync_lab.strategy.spec import VariableStrategy


def shard_lengths(length: int, shards: int) -> tuple[int, ...]:
    """Lengths along the partition axis: they sum to `length` and the first `length mod shards` are one longer.

    This is AutoDist's rule, so strategies keep their meaning when they are exchanged with it.
    """
    base, longer = divmod(length, shards)
    return tuple(base + (i < longer) for i in range(shards))


def shard_offsets(length: int, shards: int) -> tuple[int, ...]:
    """Start of each shard along the partition axis, then the end: `shards` + 1 numbers."""
    offsets = [0]
    for part in shard_lengths(length, shards):
        offsets.append(offsets[-1] + part)
    return tuple(offsets)


def shard_shapes(variable: Variable, entry: VariableStrategy) -> tuple[tuple[int, ...], ...]:
    """Shape of each shard of `variable` under `entry`."""
    if entry.axis is None:
        return (variable.shape,)
    lengths = shard_lengths(variable.shape[entry.axis], len(entry.shards))
    return tuple((*variable.shape[: entry.axis], part, *variable.shape[entry.axis + 1 :]) for part in lengths)


def shard_gradient_nbytes(variable: Variable, entry: VariableStrategy) -> tuple[float, ...]:
    """Bytes of one replica's gradient for each shard; the touched rows of a sparse variable spread evenly."""
    shapes = shard_shapes(variable, entry)
    return tuple(variable.gradient_nbytes * math.prod(shape) / variable.size for shape in shapes)
