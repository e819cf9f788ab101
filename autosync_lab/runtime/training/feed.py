"""The notebook's end of a feed: reads the user's data for every replica, and checks it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.model.traced import TracedInput

DatasetFunction = Callable[[int, int], Iterable[Any]]
"""`dataset_fn(rank, replicas)`: the batches of one replica, always the same ones in the same order."""

Batch = tuple[npt.NDArray[Any], ...]


class Feed:
    """Batches of all replicas, step by step.

    Parameters
    ----------
    dataset_fn : callable
        See `autosync_lab.fit`; it is called here, and nowhere else.
    replicas : int
    inputs : tuple of TracedInput
        What a batch is made of.

    Raises
    ------
    InvalidInput
        If `dataset_fn` fails, or gives what cannot be iterated.
    """

    def __init__(self, dataset_fn: DatasetFunction, replicas: int, inputs: tuple[TracedInput, ...]) -> None:
        self._replicas = [_ReplicaData(dataset_fn, rank, replicas, inputs) for rank in range(replicas)]

    def next_step(self) -> list[Batch]:
        """The next batch of each replica, by rank.

        Raises
        ------
        InvalidInput
            Naming rank and batch (counted from 0), if there is none or it is not what the model takes.
        """
        return [data.next_batch() for data in self._replicas]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, for each replica."""
        return tuple(
            f"rank {rank}: {data.dropped} smaller than the model's batches, left out: the first is batch {data.first}"
            for rank, data in enumerate(self._replicas)
            if data.dropped
        )


class _ReplicaData:
    def __init__(self, dataset_fn: DatasetFunction, rank: int, replicas: int, inputs: tuple[TracedInput, ...]) -> None:
        self._rank = rank
        self._inputs = inputs
        self._read = 0
        self._after_smaller = False
        self.dropped = 0
        self.first: int | None = None
        try:
            batches = dataset_fn(rank, replicas)
        except Exception as error:
            raise _failed(error, f"rank {rank}, dataset_fn({rank}, {replicas})") from error
        try:
            self._batches: Iterator[Any] = iter(batches)
        except TypeError:
            raise InvalidInput(
                "dataset_fn(rank, replicas) returns an iterable of batches",
                where=f"rank {rank}",
                received=type(batches).__name__,
            ) from None

    def next_batch(self) -> Batch:
        while True:
            where = f"rank {self._rank}, batch {self._read}"
            try:
                given = next(self._batches)
            except StopIteration:
                full = self._read - self.dropped
                raise InvalidInput(
                    "too few batches: every step needs one for each replica (repeat the data, or ask for fewer steps)",
                    where=where,
                    received=f"an end after {full} whole and {self.dropped} smaller ones",
                ) from None
            except Exception as error:
                raise _failed(error, where) from error
            arrays = _arrays(given, len(self._inputs), where)
            # The last batch of an epoch may be a smaller one; the first, and two in a row, are a wrong batch size.
            if self._read and not self._after_smaller and _smaller(arrays, self._inputs):
                self.first = self._read if self.first is None else self.first
                self.dropped += 1
                self._after_smaller = True
                self._read += 1
                continue
            batch = tuple(_fitting(a, i, where) for a, i in zip(arrays, self._inputs, strict=True))
            self._after_smaller = False
            self._read += 1
            return batch


def _failed(error: Exception, where: str) -> InvalidInput:
    return InvalidInput(f"the data failed with {type(error).__name__}: {error}", where=where)


def _arrays(given: Any, count: int, where: str) -> list[npt.NDArray[Any]]:
    """The arrays of a batch of any structure."""
    import tensorflow as tf

    leaves = [leaf for leaf in tf.nest.flatten(given) if leaf is not None]
    if len(leaves) != count:
        raise InvalidInput(f"the model takes {count} arrays in a batch", where=where, received=len(leaves))
    arrays = []
    for leaf in leaves:
        array: npt.NDArray[Any] = np.asarray(leaf)
        if array.dtype.kind not in "biufc":
            raise InvalidInput(
                "a batch holds dense arrays of numbers", where=where, received=f"{type(leaf).__name__} ({array.dtype})"
            )
        arrays.append(array)
    return arrays


def _smaller(arrays: list[npt.NDArray[Any]], inputs: tuple[TracedInput, ...]) -> bool:
    """True if a batch has less examples than the model's, and is right otherwise."""
    shapes = [(a.shape, i.shape) for a, i in zip(arrays, inputs, strict=True)]
    less = {(has[0], needs[0]) for has, needs in shapes if has != needs and has and needs}
    same_rest = all(len(has) == len(needs) and has[1:] == needs[1:] for has, needs in shapes)
    return same_rest and len(less) == 1 and all(has < (needs or 0) for has, needs in less)


def _fitting(array: npt.NDArray[Any], needed: TracedInput, where: str) -> npt.NDArray[Any]:
    where = f"{where}, input {needed.tensor.split(':')[0]!r}"
    if array.shape != needed.shape:
        raise InvalidInput(
            f"the model was captured with batches of shape {list(needed.shape)}",
            where=where,
            received=f"shape {list(array.shape)}",
        )
    dtype = np.dtype(needed.dtype)
    if array.dtype.kind != dtype.kind:
        raise InvalidInput(f"the model takes {dtype.name}", where=where, received=array.dtype.name)
    fitting = array.astype(dtype, copy=False)
    if dtype.kind in "iu" and not np.array_equal(fitting, array):
        raise InvalidInput(f"a number does not fit into {dtype.name}", where=where, received=array.dtype.name)
    return fitting
