"""One trainable variable, as synchronization sees it."""

import math
from dataclasses import dataclass
from typing import Any

from autosync_lab.errors import InvalidModel
from autosync_lab.model.json_fields import check

DTYPE_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
"""Bytes of one element, for every dtype that a trainable variable may have."""

MAX_SIZE = 2**48
"""Elements of a variable: byte counts then stay exact in floating point."""

INDEX_BYTES = 8
"""Bytes of one row index on the wire (int64)."""


@dataclass(frozen=True)
class Variable:
    """A trainable variable of a model.

    Parameters
    ----------
    name : str
        Unique in its model.
    shape : tuple of int
        () for a scalar.
    dtype : str
        One of `DTYPE_BYTES`.
    sparse : bool
        True if its gradient is a set of rows (TensorFlow's IndexedSlices) of axis 0.
    touched_rows : float, optional
        For a sparse variable: expected number of distinct rows that one replica touches in one step.
    ready : float
        Share of one replica's compute time, in (0, 1], after which the gradient is ready.

    Raises
    ------
    InvalidModel
        If a field breaks a rule.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    sparse: bool = False
    touched_rows: float | None = None
    ready: float = 1.0

    def __post_init__(self) -> None:
        where = f"variable {self.name!r}"
        if not self.name:
            raise InvalidModel("a variable needs a name", received=self.name)
        object.__setattr__(self, "shape", tuple(int(d) for d in self.shape))
        if any(d <= 0 for d in self.shape):
            raise InvalidModel("every dimension is at least 1", where=where, received=self.shape)
        if math.prod(self.shape) > MAX_SIZE:
            raise InvalidModel(f"a variable has at most {MAX_SIZE} elements", where=where, received=self.shape)
        if self.dtype not in DTYPE_BYTES:
            raise InvalidModel("unknown dtype", where=where, received=self.dtype, valid=DTYPE_BYTES)
        if not 0.0 < self.ready <= 1.0:
            raise InvalidModel("`ready` is a share of the compute time in (0, 1]", where=where, received=self.ready)
        if self.sparse:
            if not self.shape:
                raise InvalidModel("a sparse variable has rows, so at least one axis", where=where, received=self.shape)
            if self.touched_rows is None or not 0.0 < self.touched_rows <= self.shape[0]:
                raise InvalidModel(
                    f"a sparse variable touches between 0 (excluded) and {self.shape[0]} rows a step",
                    where=where,
                    received=self.touched_rows,
                )
        elif self.touched_rows is not None:
            raise InvalidModel("only a sparse variable has `touched_rows`", where=where, received=self.touched_rows)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole variable."""
        return self.size * DTYPE_BYTES[self.dtype]

    @property
    def row_nbytes(self) -> float:
        """Bytes of one row of axis 0 (of the whole, for a scalar)."""
        return self.nbytes / self.shape[0] if self.shape else float(self.nbytes)

    @property
    def gradient_nbytes(self) -> float:
        """Bytes of one replica's gradient in one step, without row indices."""
        if self.touched_rows is None:
            return float(self.nbytes)
        return self.touched_rows * self.row_nbytes

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document of this variable."""
        document: dict[str, Any] = {"name": self.name, "shape": list(self.shape), "dtype": self.dtype}
        if self.sparse:
            document |= {"sparse": True, "touched_rows": self.touched_rows}
        return document | {"ready": self.ready}

    @classmethod
    def from_json(cls, document: Any, *, where: str | None = None) -> "Variable":
        """Inverse of `to_json`.

        Raises
        ------
        InvalidModel
            Naming the first field that is missing, unknown or wrong.
        """
        check(document, "an object", "a variable", where)
        unknown = sorted(set(document) - set(_FIELDS))
        if unknown:
            raise InvalidModel("unknown field of a variable", where=where, received=unknown[0], valid=sorted(_FIELDS))
        if "name" not in document or "shape" not in document:
            raise InvalidModel("a variable has a name and a shape", where=where, received=sorted(document))
        for name, value in document.items():
            if value is not None or name != "touched_rows":
                check(value, _FIELDS[name], f"a variable's `{name}`", where)
        for dimension in document["shape"]:
            check(dimension, "a whole number", "a dimension", where)
        return cls(**document)


_FIELDS = {
    "name": "a text",
    "shape": "a list",
    "dtype": "a text",
    "sparse": "true or false",
    "touched_rows": "a number",
    "ready": "a number",
}
"""Fields of a variable in JSON, and their kinds."""
