"""Knowledge in a file: arrays in NumPy's npz, and beside them a JSON document that says what they are.

Nothing in it is ever executed or unpickled.
"""

import io
import json
import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import autosync_lab
from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.features import Encoded, shard_feature_names, strategy_feature_names
from autosync_lab.simulator.learned.recipe import Recipe
from autosync_lab.simulator.learned.simulator import Knowledge, Origin
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy
from autosync_lab.user_file import read_file

SUFFIX = ".npz"

FORMAT = "autosync-lab/simulator"
FORMAT_VERSION = 1

DOCUMENT = "document"
"""Name of the array that holds the JSON document, as bytes of UTF-8."""

MOST_BYTES = 512 * 2**20
"""A file with more, unpacked, is refused."""


def save_knowledge(knowledge: Knowledge, path: str | Path) -> None:
    """Write a file; an older one of this name is replaced once the new one is complete.

    Raises
    ------
    InvalidInput
        If the name does not end in .npz, or the folder does not exist.
    AutoSyncLabError
        If the system refuses.
    """
    path = Path(path)
    if path.suffix != SUFFIX or path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInput(f"a simulator's file ends in {SUFFIX}, in a folder that exists", received=str(path))
    recipe = knowledge.recipe
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "package_version": autosync_lab.__version__,
        "recipe": asdict(recipe),
        "offset": knowledge.offset,
        "origins": [asdict(origin) for origin in knowledge.origins],
        "features": _feature_names(recipe),
        "arrays": sorted(knowledge.state),
    }
    text = np.frombuffer(json.dumps(document).encode(), np.uint8)
    partial = path.with_name(f".{path.name}.{os.getpid()}{SUFFIX}")
    arrays: dict[str, Any] = {DOCUMENT: text} | {f"state/{name}": value for name, value in knowledge.state.items()}
    try:
        np.savez_compressed(partial, **arrays)
        partial.replace(path)
    except OSError as error:
        raise AutoSyncLabError(f"{path}: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def load_knowledge(path: str | Path) -> Knowledge:
    """Read what `save_knowledge` wrote.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is damaged, of another version, or of other features than this version has.
    MissingExtra
        If its ranker needs a package that is not installed.
    """
    where = str(path)
    arrays = _arrays(Path(path), where)
    try:
        document = json.loads(bytes(arrays.pop(DOCUMENT)).decode())
    except (KeyError, ValueError, RecursionError):
        raise InvalidInput("this file is no simulator", where=where) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput("this file is no simulator", where=where)
    if document.get("version") != FORMAT_VERSION:
        raise InvalidInput(
            f"this version reads simulators of version {FORMAT_VERSION}", where=where, received=document.get("version")
        )
    try:
        recipe = Recipe(**document["recipe"])
        origins = tuple(Origin(**origin) for origin in document["origins"])
        offset = float(document["offset"])
        names, features = document["arrays"], document["features"]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"this simulator is damaged ({error})", where=where) from None
    if features != _feature_names(recipe):
        raise InvalidInput("this simulator reads features that this version does not have", where=where)
    state = {name.removeprefix("state/"): value for name, value in arrays.items()}
    if sorted(state) != names or not np.isfinite(offset):
        raise InvalidInput("this simulator is damaged (its arrays are not those that it lists)", where=where)
    try:
        recipe.make().check(state, _tiny(recipe))
    except InvalidInput as error:
        raise InvalidInput(f"this simulator is damaged ({error})", where=where) from None
    return Knowledge(recipe, state, offset, origins)


def _arrays(path: Path, where: str) -> dict[str, Any]:
    """All arrays of the file."""
    data = read_file(path, MOST_BYTES, "a simulator", InvalidInput)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise InvalidInput(f"a simulator has at most {MOST_BYTES} bytes", where=where)
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except InvalidInput:
        raise
    except Exception as error:
        # Damage shows as any of a dozen errors of zipfile, zlib and NumPy.
        raise InvalidInput(f"this file is no simulator, or damaged ({error})", where=where) from None


def _feature_names(recipe: Recipe) -> list[str]:
    return [*strategy_feature_names(recipe.features), *shard_feature_names(recipe.features)]


def _tiny(recipe: Recipe) -> Encoded:
    """A strategy as the recipe's ranker reads it, to try a state on."""
    model = ModelSpec("tiny", (Variable("v", (4,)),), 1, compute_s=0.01)
    cluster = ClusterSpec("tiny", (Node("a", 1, 1.0, 1.0), Node("b", 1, 1.0, 1.0)), "virtual")
    strategy = Strategy((VariableStrategy("v", (AllReduce(0),)),), 2)
    batch = StrategyBatch.encode([strategy], model, cluster)
    return Encoded(batch, CostModel(model, cluster), recipe.features, np.ones(1) if recipe.prior else None)
