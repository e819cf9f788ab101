"""What training has made so far, whole and by name, whatever the strategy: the content of a checkpoint.

A slot is an array that training keeps for a variable: its value, a moment of its optimizer, a rounding error. A part is
the range of a slot that one variable of one process's graph holds.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from autosync_lab.runtime.array_archive import pack, unpack

VALUE = "value"
"""Slot of a trainable variable's value; the slots of its optimizer are called as in `ShardOptimizer.slots`."""

STATE = "state"
"""Slot of a variable that stays local to its replica."""

ERROR = "error"
"""Slot of what error feedback adds to the next gradient, local to its replica."""


@dataclass(frozen=True)
class Key:
    """Names a slot: `rank` is that of the replica for what each replica has of its own."""

    variable: str
    slot: str
    rank: int | None = None


@dataclass(frozen=True)
class Part:
    """The range `start` to `end` along `axis` of a slot whose whole has `shape`; all of it if `axis` is None."""

    key: Key
    shape: tuple[int, ...]
    axis: int | None = None
    start: int = 0
    end: int = 0

    def of_slot(self, slot: str, shape: tuple[int, ...], rank: int | None = None) -> "Part":
        """The same range of another slot of the variable; a slot of `shape` () has one number for every part."""
        key = Key(self.key.variable, slot, rank)
        return Part(key, ()) if not shape else replace(self, key=key)

    def index(self) -> tuple[slice, ...]:
        """Where the part is in the whole."""
        if self.axis is None:
            return ()
        return (*(slice(None) for _ in range(self.axis)), slice(self.start, self.end))


@dataclass(frozen=True)
class Snapshot:
    """Whole slots by their keys."""

    arrays: dict[Key, npt.NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def join(cls, parts: Iterable[tuple[Part, npt.NDArray[Any]]]) -> Self:
        """Put parts together. Of an error, parts may be missing: they are 0.

        Raises
        ------
        ValueError
            If a part of another slot is missing.
        """
        arrays: dict[Key, npt.NDArray[Any]] = {}
        present: dict[Key, int] = {}
        for part, array in parts:
            if part.axis is None:
                arrays[part.key] = array
                continue
            if part.key not in arrays:
                arrays[part.key] = np.zeros(part.shape, array.dtype)
            arrays[part.key][part.index()] = array
            present[part.key] = present.get(part.key, 0) + array.size
        for key, size in present.items():
            if size != arrays[key].size and key.slot != ERROR:
                raise ValueError(f"{key.slot} of {key.variable!r} is not whole")
        return cls(arrays)

    def part(self, part: Part) -> npt.NDArray[Any] | None:
        """The part, or None if nothing is known of its slot."""
        whole = self.arrays.get(part.key)
        return None if whole is None else whole[part.index()]

    def named(self, slot: str, rank: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Every variable's `slot`, by the variable's name."""
        return {k.variable: a for k, a in self.arrays.items() if (k.slot, k.rank) == (slot, rank)}

    def for_replicas(self, replicas: int, seeds: Iterable[str]) -> "Snapshot":
        """What `replicas` replicas go on from.

        With another number of them, errors start at 0 again, and a new replica takes the state of rank 0, but for the
        random generators named by `seeds`, which start as they always do.
        """
        ranks = {k.rank for k in self.arrays if k.rank is not None}
        if not ranks or ranks == set(range(replicas)):
            return self
        own = set(seeds)
        arrays = {k: a for k, a in self.arrays.items() if k.rank is None or (k.slot == STATE and k.rank < replicas)}
        for name, array in self.named(STATE, 0).items():
            if name not in own:
                arrays |= {Key(name, STATE, r): array for r in range(replicas) if r not in ranks}
        return Snapshot(arrays)

    def to_bytes(self) -> bytes:
        """An archive of all slots."""
        return pack((asdict(key), array) for key, array in self.arrays.items())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Inverse of `to_bytes`.

        Raises
        ------
        ValueError
            If the bytes are something else.
        """
        try:
            return cls({Key(**document): array for document, array in unpack(data)})
        except TypeError as error:
            raise ValueError(f"no snapshot: {error}") from None


def pack_parts(parts: Iterable[tuple[Part, npt.NDArray[Any]]]) -> bytes:
    """Parts as bytes."""
    return pack((asdict(part), array) for part, array in parts)


def unpack_parts(data: bytes) -> list[tuple[Part, npt.NDArray[Any]]]:
    """Inverse of `pack_parts`."""
    return [
        (Part(**(document | {"key": Key(**document["key"]), "shape": tuple(document["shape"])})), array)
        for document, array in unpack(data)
    ]
