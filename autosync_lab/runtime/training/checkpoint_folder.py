"""Checkpoints on disk: a folder `step-N` for each, which one process can load.

`checkpoint.json` says what it is a checkpoint of; `arrays.npz` is an archive that NumPy reads, with whole variables and
optimizer slots by name (`autosync_lab.runtime.array_archive`).
"""

import hashlib
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.model.traced import TracedModel
from autosync_lab.runtime.channel import MAX_PAYLOAD_BYTES
from autosync_lab.runtime.engine.checkpoint import STATE, VALUE, Key, Snapshot
from autosync_lab.user_file import read_file, read_text_file

FORMAT = "autosync-lab/checkpoint"
FORMAT_VERSION = 1

MAX_JSON_BYTES = 1 << 20

_NAME = re.compile(r"step-(\d+)")


@dataclass(frozen=True)
class About:
    """What a checkpoint is one of: `step` steps of a model trained with a strategy, and what with."""

    step: int
    model: str
    model_hash: str
    strategy_id: str
    cluster: str
    replicas: int
    optimizer: str
    learning_rate: float
    seed: int
    versions: dict[str, str]


@dataclass(frozen=True)
class Checkpoint:
    """Training after some steps.

    Parameters
    ----------
    about : About
    snapshot : Snapshot
        Whole variables, optimizer slots, and what each replica has of its own.
    """

    about: About
    snapshot: Snapshot

    @property
    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Trainable variables by name."""
        return self.snapshot.named(VALUE)

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Other variables of the replica of rank 0 (statistics of batch normalization) by name."""
        return self.snapshot.named(STATE, 0)

    def check_fits(self, traced: TracedModel, optimizer: str, where: str) -> None:
        """Check that training of a model with an optimizer can go on from here.

        Raises
        ------
        InvalidInput
            Naming what differs.
        """
        if self.about.optimizer != optimizer:
            raise InvalidInput(
                f"this checkpoint was trained with {self.about.optimizer}, whose slots {optimizer} does not have",
                where=where,
                received=optimizer,
                valid=(self.about.optimizer,),
            )
        known = set(self.parameters)
        needed = {v.name for v in traced.trainable}
        for name in sorted(known ^ needed):
            whose = "the checkpoint" if name in known else "the model"
            raise InvalidInput(f"only {whose} has the variable {name!r}: this is of another model", where=where)
        for variable in traced.trainable:
            array = self.snapshot.arrays[Key(variable.name, VALUE)]
            if (array.shape, array.dtype.name) != (variable.shape, variable.dtype):
                raise InvalidInput(
                    f"the variable {variable.name!r} is {variable.dtype} of shape {list(variable.shape)} in the model: "
                    "this checkpoint is of another one",
                    where=where,
                    received=f"{array.dtype.name} of shape {list(array.shape)}",
                )


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write `folder/step-N`; it is there whole or not at all.

    Returns
    -------
    Path
        The new folder.
    """
    path = folder / f"step-{checkpoint.about.step}"
    partial = folder / f".{path.name}.partial"
    for left_over in (partial, path):
        if left_over.exists():
            shutil.rmtree(left_over)
    partial.mkdir(parents=True)
    arrays = checkpoint.snapshot.to_bytes()
    document = {"format": FORMAT, "version": FORMAT_VERSION} | asdict(checkpoint.about)
    document["arrays_sha256"] = hashlib.sha256(arrays).hexdigest()
    _write(partial / "arrays.npz", arrays)
    _write(partial / "checkpoint.json", (json.dumps(document, indent=2) + "\n").encode())
    partial.rename(path)
    return path


def newest_checkpoint(folder: Path) -> Path | None:
    """The checkpoint of the most steps in a folder of checkpoints; None if there is none."""
    found = [(int(m[1]), p) for p in folder.glob("step-*") if (m := _NAME.fullmatch(p.name))]
    return max(found)[1] if found else None


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a folder `step-N`.

    Raises
    ------
    InvalidInput
        If it is no checkpoint, of another version, or damaged.
    """
    where = str(path)
    text = read_text_file(path / "checkpoint.json", MAX_JSON_BYTES, "a checkpoint", InvalidInput)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _damaged(where, f"checkpoint.json is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput("this is no checkpoint", where=where)
    if document.get("version") != FORMAT_VERSION:
        raise InvalidInput(
            f"this version reads checkpoints of version {FORMAT_VERSION}", where=where, received=document.get("version")
        )
    try:
        about = About(**{name: document[name] for name in About.__dataclass_fields__})
        digest = document["arrays_sha256"]
    except KeyError as error:
        raise _damaged(where, f"checkpoint.json lacks {error}") from None
    arrays = read_file(path / "arrays.npz", MAX_PAYLOAD_BYTES, "a checkpoint", InvalidInput)
    if hashlib.sha256(arrays).hexdigest() != digest:
        raise _damaged(where, "arrays.npz is not what was written")
    try:
        return Checkpoint(about, Snapshot.from_bytes(arrays))
    except ValueError as error:
        raise _damaged(where, str(error)) from None


def _damaged(where: str, how: str) -> InvalidInput:
    return InvalidInput(f"this checkpoint is damaged ({how}); delete it to go on from the one before", where=where)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
