"""A traced training step: what workers run instead of user code.

The step is one TensorFlow graph, forward and backward, whose variables are placeholders of dtype resource. A worker
imports it and binds every placeholder to a variable of its own.
"""

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidModel

FORMAT_VERSION = 1


@dataclass(frozen=True)
class TracedInput:
    """One input of the step: its placeholder tensor, and `examples[i]` in `TracedModel.examples`."""

    tensor: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class TracedVariable:
    """A variable of the step.

    `placeholder` is the resource placeholder's tensor name. For a trainable variable, `gradient` is the tensor name of
    its dense gradient, or (`values`, `indices`) name the tensors of its sparse one. State (batch-norm statistics,
    dropout seeds) has neither: it stays local to the replica. `is_seed` marks the state of a random generator, which
    every replica starts differently.
    """

    name: str
    placeholder: str
    shape: tuple[int, ...]
    dtype: str
    gradient: str | None = None
    values: str | None = None
    indices: str | None = None
    is_seed: bool = False

    @property
    def sparse(self) -> bool:
        """True if the gradient is a set of rows."""
        return self.values is not None


@dataclass(frozen=True)
class TracedModel:
    """One replica's training step as data.

    Parameters
    ----------
    graph_def : bytes
        Serialized GraphDef of forward and backward.
    inputs : tuple of TracedInput
    trainable : tuple of TracedVariable
        In the order of `ModelSpec.variables`.
    state : tuple of TracedVariable
        Replica-local variables.
    constants : tuple of TracedInput
        Captured constant tensors; their values are in `values` under their tensor name.
    loss : str
        Tensor name of the scalar loss.
    update_ops : tuple of str
        Names of operations with side effects (batch-norm updates) that one step runs.
    values : dict of str to ndarray
        Initial value of every trainable and state variable by name, and of every constant by tensor name.
    examples : tuple of ndarray
        For each input, shape [k, *batch shape]: k different batches. The replica of rank r of n uses batch
        (r + step * n) mod k in each step.
    """

    graph_def: bytes
    inputs: tuple[TracedInput, ...]
    trainable: tuple[TracedVariable, ...]
    state: tuple[TracedVariable, ...]
    constants: tuple[TracedInput, ...]
    loss: str
    update_ops: tuple[str, ...]
    values: dict[str, npt.NDArray[Any]]
    examples: tuple[npt.NDArray[Any], ...]

    def example_index(self, rank: int, replicas: int, step: int) -> int:
        """Index into `examples` of the batch that replica `rank` uses in `step`."""
        return (rank + step * replicas) % len(self.examples[0]) if self.examples else 0

    def batch(self, rank: int, replicas: int, step: int) -> dict[str, npt.NDArray[Any]]:
        """Feed (tensor name to array) of one replica in one step."""
        index = self.example_index(rank, replicas, step)
        return {inp.tensor: stack[index] for inp, stack in zip(self.inputs, self.examples, strict=True)}

    def to_bytes(self) -> bytes:
        """Serialize without pickle: a NumPy archive whose member `header` is JSON."""
        header = {
            "version": FORMAT_VERSION,
            "inputs": [asdict(i) for i in self.inputs],
            "trainable": [asdict(v) for v in self.trainable],
            "state": [asdict(v) for v in self.state],
            "constants": [asdict(c) for c in self.constants],
            "loss": self.loss,
            "update_ops": list(self.update_ops),
            "values": list(self.values),
            # NumPy cannot store bfloat16 (an extension dtype): its bits travel as uint16.
            "bfloat16": [k for k, v in self.values.items() if v.dtype.name == "bfloat16"],
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
            "graph_def": np.frombuffer(self.graph_def, np.uint8),
        }
        for i, value in enumerate(self.values.values()):
            arrays[f"value{i}"] = value.view(np.uint16) if value.dtype.name == "bfloat16" else value
        arrays |= {f"example{i}": stack for i, stack in enumerate(self.examples)}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stub takes keywords for its own flags
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "TracedModel":
        """Inverse of `to_bytes`.

        Raises
        ------
        InvalidModel
            If the bytes are of another format or version.
        """
        try:
            if not zipfile.is_zipfile(io.BytesIO(data)):
                raise ValueError("not an archive")
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                members = {k: archive[k] for k in archive.files}
            header = json.loads(members["header"].tobytes())
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidModel(f"these bytes are no traced model: {error}") from None
        if header["version"] != FORMAT_VERSION:
            raise InvalidModel(
                f"this version reads traced models of version {FORMAT_VERSION}", received=header["version"]
            )
        values = {name: members[f"value{i}"] for i, name in enumerate(header["values"])}
        if header["bfloat16"]:
            import ml_dtypes

            values |= {name: values[name].view(ml_dtypes.bfloat16) for name in header["bfloat16"]}
        return cls(
            graph_def=members["graph_def"].tobytes(),
            inputs=tuple(_input(i) for i in header["inputs"]),
            trainable=tuple(_variable(v) for v in header["trainable"]),
            state=tuple(_variable(v) for v in header["state"]),
            constants=tuple(_input(c) for c in header["constants"]),
            loss=header["loss"],
            update_ops=tuple(header["update_ops"]),
            values=values,
            examples=tuple(members[f"example{i}"] for i in range(len(header["inputs"]))),
        )


def _input(document: dict[str, Any]) -> TracedInput:
    return TracedInput(**(document | {"shape": tuple(document["shape"])}))


def _variable(document: dict[str, Any]) -> TracedVariable:
    return TracedVariable(**(document | {"shape": tuple(document["shape"])}))
