"""Example batches: from whatever people feed their models with, to one stack of arrays per input."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autosync_lab.errors import InvalidModel

MAX_BATCHES = 16
"""Different batches kept: replicas and steps take turns with them."""


@dataclass(frozen=True)
class Batches:
    """Several batches of one structure.

    Parameters
    ----------
    first : structure of arrays
        The first batch as it was given.
    stacks : tuple of ndarray
        One per input (leaf of the structure that is not None), batches along axis 0.
    """

    first: Any
    stacks: tuple[npt.NDArray[Any], ...]

    def pack(self, flat: Sequence[Any]) -> Any:
        """The structure of one batch, with other inputs in place of its arrays."""
        given = iter(flat)
        leaves = [None if leaf is None else next(given) for leaf in tf.nest.flatten(self.first)]
        return tf.nest.pack_sequence_as(self.first, leaves)


def stack_batches(batch: Any, where: str) -> Batches:
    """Stack the inputs of one batch, or of an iterable of batches.

    Parameters
    ----------
    batch : structure of arrays, or tf.data.Dataset, or list or iterator of structures
        A tuple is one batch; a list of tuples, a data set and an iterator are several, of which up to `MAX_BATCHES` are
        read. Batches whose shapes differ from the first one's (a smaller last batch) are left out.
    where : str
        What errors call it.

    Raises
    ------
    InvalidModel
        If there is no batch, or it holds what a step cannot be fed with.
    """
    batches = list(_several(batch, where))
    if not batches:
        raise InvalidModel("at least one batch is needed", where=where)
    rows = [[_array(leaf, where) for leaf in tf.nest.flatten(b) if leaf is not None] for b in batches]
    if not rows[0]:
        raise InvalidModel("a batch holds at least one array", where=where)
    if any(0 in array.shape for array in rows[0]):
        raise InvalidModel("a batch is not empty", where=where, received=[a.shape for a in rows[0]])
    shapes = [a.shape for a in rows[0]]
    same = [row for row in rows if [a.shape for a in row] == shapes]
    kinds = [a.dtype.kind for a in rows[0]]
    other = next((row for row in same if [a.dtype.kind for a in row] != kinds), None)
    if other is not None:
        raise InvalidModel(
            "all batches have the same types",
            where=where,
            received=[a.dtype.name for a in other],
            valid=[a.dtype.name for a in rows[0]],
        )
    return Batches(
        batches[0],
        tuple(
            np.stack([array.astype(column[0].dtype, copy=False) for array in column])
            for column in zip(*same, strict=True)
        ),
    )


def _several(batch: Any, where: str) -> Iterator[Any]:
    if isinstance(batch, tf.data.Dataset | Iterator) or (
        isinstance(batch, list) and all(isinstance(b, tuple) for b in batch)
    ):
        yield from _first(batch)
    elif isinstance(batch, tf.TypeSpec) or any(isinstance(leaf, tf.TypeSpec) for leaf in tf.nest.flatten(batch)):
        raise InvalidModel("a real batch is needed, not its specification", where=where, received=batch)
    else:
        yield batch


def _first(batches: Iterable[Any]) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        if number == MAX_BATCHES:
            return
        yield batch


def _array(leaf: Any, where: str) -> npt.NDArray[Any]:
    if isinstance(leaf, tf.RaggedTensor | tf.SparseTensor):
        raise InvalidModel(
            "ragged and sparse inputs are not supported; feed dense ones", where=where, received=type(leaf)
        )
    array: npt.NDArray[Any] = np.asarray(leaf)
    if array.dtype.name == "bfloat16":
        raise InvalidModel("feed float32 in place of bfloat16; the model casts it", where=where, received="bfloat16")
    if array.dtype.kind not in "biufc":
        raise InvalidModel("inputs are numbers; turn text into ids first", where=where, received=str(array.dtype))
    return array
