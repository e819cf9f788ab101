"""`ModelSpec`: trainable variables in forward order, and how long one replica computes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from autosync_lab.content_hash import content_hash
from autosync_lab.errors import InvalidModel
from autosync_lab.model.quiet_tensorflow import import_tensorflow
from autosync_lab.model.traced import TracedModel
from autosync_lab.model.variable import Variable

if TYPE_CHECKING:
    import keras

FORMAT_VERSION = 1


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
    def from_json(cls, document: dict[str, Any], *, where: str | None = None) -> "ModelSpec":
        """Inverse of `to_json` (without the traced step)."""
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
        return cls(
            name=document["name"],
            variables=tuple(Variable.from_json(v) for v in document["variables"]),
            batch_size=document["batch_size"],
            flops=document.get("flops"),
            compute_s=document.get("compute_s"),
            notes=tuple(document.get("notes", ())),
        )

    def __str__(self) -> str:
        return json.dumps({"name": self.name, "variables": len(self.variables), "parameters": self.parameters})
