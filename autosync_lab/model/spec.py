"""`ModelSpec`: trainable variables in forward order, and how long one replica computes."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from autosync_lab.content_hash import content_hash
from autosync_lab.errors import InvalidModel
from autosync_lab.model.json_fields import check
from autosync_lab.model.quiet_tensorflow import import_tensorflow
from autosync_lab.model.traced import TracedModel
from autosync_lab.model.variable import Variable

if TYPE_CHECKING:
    import keras

FORMAT_VERSION = 1

EARLIEST_SHARE = 1e-6
"""A gradient that needs no computation is ready almost at once: shares of the compute time are above 0."""


@dataclass(frozen=True)
class ModelSpec:
    """A model as synchronization sees it.

    Parameters
    ----------
    name : str
    variables : tuple of Variable
        Trainable variables in forward order.
    batch_size : int
        Examples that one replica processes in one step.
    flops : float, optional
        Floating-point operations of one replica's step (forward and backward).
    compute_s : float, optional
        Seconds that one replica computes in one step, where it was measured.
    notes : tuple of str
        What was left out when the model was captured, and why.
    tracer : callable, optional
        Returns the `TracedModel`; None if the model is known by its variables only. Not part of the content.

    Raises
    ------
    InvalidModel
        If there is no variable, or two have one name.
    """

    name: str
    variables: tuple[Variable, ...]
    batch_size: int
    flops: float | None = None
    compute_s: float | None = None
    notes: tuple[str, ...] = ()
    tracer: Callable[[], TracedModel] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        object.__setattr__(self, "notes", tuple(self.notes))
        where = f"model {self.name!r}"
        if not self.variables:
            raise InvalidModel("a model has at least one trainable variable", where=where)
        if self.batch_size < 1:
            raise InvalidModel("the batch has at least one example", where=where, received=self.batch_size)
        seen: set[str] = set()
        for variable in self.variables:
            if variable.name in seen:
                raise InvalidModel("two variables have one name", where=where, received=variable.name)
            seen.add(variable.name)

    @cached_property
    def hash(self) -> str:
        """Content hash of variables and batch size: what decides what a strategy does. Times are not part of it."""
        return content_hash(
            {
                "variables": [v.to_json() | {"ready": 0, "touched_rows": None} for v in self.variables],
                "batch_size": self.batch_size,
            }
        )

    @property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(v.size for v in self.variables)

    @property
    def nbytes(self) -> int:
        """Bytes of all trainable variables."""
        return sum(v.nbytes for v in self.variables)

    @cached_property
    def traced(self) -> TracedModel:
        """The training step that workers run (captured on first use, then kept).

        Raises
        ------
        InvalidModel
            If the model is known by its variables only.
        """
        if self.tracer is None:
            raise InvalidModel(
                "this model is known by its variables only, so it cannot be run; capture it with ModelSpec.from_keras",
                where=f"model {self.name!r}",
            )
        import_tensorflow()
        return self.tracer()

    @classmethod
    def from_keras(cls, model: "keras.Model", loss: Any, batch: Any, *, name: str | None = None) -> "ModelSpec":
        """Capture any Keras model; see `autosync_lab.model.keras_capture.capture_keras`."""
        from autosync_lab.model.keras_capture import capture_keras

        return capture_keras(model, loss, batch, name=name)

    @classmethod
    def from_function(cls, function: Any, variables: Any, batch: Any, *, name: str) -> "ModelSpec":
        """Capture a loss function and its variables; see `autosync_lab.model.function_capture.capture_function`."""
        from autosync_lab.model.function_capture import capture_function

        return capture_function(function, variables, batch, name=name)

    def with_profile(self, compute_s: float, ready_s: Sequence[float]) -> "ModelSpec":
        """A copy whose times are measured ones.

        Parameters
        ----------
        compute_s : float
            Seconds that one replica computes in one step.
        ready_s : sequence of float
            For each variable: seconds from the start of a step until its gradient is ready.

        Raises
        ------
        InvalidModel
            If a time is not positive, or their number is not that of the variables.
        """
        where = f"model {self.name!r}"
        if not 0.0 < compute_s < math.inf:
            raise InvalidModel("the compute time is above 0 s", where=where, received=compute_s)
        if len(ready_s) != len(self.variables):
            raise InvalidModel(
                f"{len(self.variables)} variables need as many times", where=where, received=len(ready_s)
            )
        wrong = next((t for t in ready_s if not 0.0 <= t < math.inf), None)
        if wrong is not None:
            raise InvalidModel("a gradient is ready 0 s or later after the step's start", where=where, received=wrong)
        variables = tuple(
            replace(v, ready=min(1.0, max(EARLIEST_SHARE, t / compute_s)))
            for v, t in zip(self.variables, ready_s, strict=True)
        )
        return replace(self, variables=variables, compute_s=float(compute_s))

    def to_json(self) -> dict[str, Any]:
        """Versioned JSON document."""
        return {
            "format": "autosync-lab/model",
            "version": FORMAT_VERSION,
            "name": self.name,
            "batch_size": self.batch_size,
            "flops": self.flops,
            "compute_s": self.compute_s,
            "notes": list(self.notes),
            "variables": [v.to_json() for v in self.variables],
        }

    @classmethod
    def from_json(cls, document: Any, *, where: str | None = None) -> "ModelSpec":
        """Inverse of `to_json` (without the traced step).

        Raises
        ------
        InvalidModel
            Naming the first field that is missing or wrong.
        """
        check(document, "an object", "a model file", where)
        if document.get("format") != "autosync-lab/model":
            raise InvalidModel("this is no model file", where=where, received=document.get("format"))
        if document.get("version") != FORMAT_VERSION:
            raise InvalidModel(
                f"this version reads model files of version {FORMAT_VERSION}",
                where=where,
                received=document.get("version"),
            )
        missing = sorted({"name", "batch_size", "variables"} - set(document))
        if missing:
            raise InvalidModel(f"the field {missing[0]!r} is missing", where=where)
        for name in ("flops", "compute_s"):
            if document.get(name) is not None and check(document[name], "a number", f"`{name}`", where) < 0:
                raise InvalidModel(f"`{name}` is not negative", where=where, received=document[name])
        notes = check(document.get("notes", []), "a list", "`notes`", where)
        return cls(
            name=check(document["name"], "a text", "`name`", where),
            variables=tuple(
                Variable.from_json(v, where=where) for v in check(document["variables"], "a list", "`variables`", where)
            ),
            batch_size=check(document["batch_size"], "a whole number", "`batch_size`", where),
            flops=document.get("flops"),
            compute_s=document.get("compute_s"),
            notes=tuple(check(note, "a text", "a note", where) for note in notes),
        )

    def __str__(self) -> str:
        return json.dumps({"name": self.name, "variables": len(self.variables), "parameters": self.parameters})
