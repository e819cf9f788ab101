"""`DataSet`: measured trials with what it takes to predict them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.cluster.yaml_file import dump_cluster, parse_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.study.parquet import export_trials, import_trials
from autosync_lab.user_file import read_text_file

FORMAT = "autosync-lab/data-set"
FORMAT_VERSION = 1

DATASHEET_FILE = "DATASHEET.md"
TRIALS_FILE = "trials.parquet"
DESCRIPTION_FILE = "data_set.json"
MAX_DESCRIPTION_BYTES = 16 << 20

_T = TypeVar("_T")

SHIPPED = Path(__file__).parent / "measured"


@dataclass(frozen=True)
class DataSet:
    """Trials of several models on several clusters.

    Parameters
    ----------
    trials : tuple of Trial
        In the order in which they were measured.
    models : mapping of str to ModelSpec
        With the times of one replica's compute on this machine; by name.
    clusters : mapping of str to ClusterSpec
    calibrations : mapping of str to Calibration
        What `autosync-lab calibrate` found for the clusters, in quiet minutes near the trials.
    """

    trials: tuple[Trial, ...]
    models: Mapping[str, ModelSpec]
    clusters: Mapping[str, ClusterSpec]
    calibrations: Mapping[str, Calibration]

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of each model and cluster that have trials together, in the order of `models` and `clusters`."""
        present = {(t.model_hash, t.cluster_hash) for t in self.trials}
        return tuple(
            (m, c)
            for c, cluster in self.clusters.items()
            for m, model in self.models.items()
            if (model.hash, cluster.hash) in present
        )

    def of(self, model: str, cluster: str) -> tuple[Trial, ...]:
        """The trials of a pair that succeeded and have a strategy.

        Raises
        ------
        InvalidInput
            If the data set has no such model or cluster.
        """
        wanted = self.model(model).hash, self.cluster(cluster).hash
        return tuple(
            t for t in self.trials if t.status == "ok" and t.strategy and (t.model_hash, t.cluster_hash) == wanted
        )

    def model(self, name: str) -> ModelSpec:
        """A model with its measured compute times."""
        return _one(self.models, name, "model")

    def cluster(self, name: str) -> ClusterSpec:
        """A cluster."""
        return _one(self.clusters, name, "cluster")

    def cost_model(self, model: str, cluster: str) -> CostModel:
        """The calibrated cost model of a pair; what is typical, where a cluster was not calibrated."""
        return CostModel(self.model(model), self.cluster(cluster), self.calibrations.get(cluster))

    def write(self, folder: str | Path) -> None:
        """Write it to a folder, made if it does not exist.

        Raises
        ------
        InvalidInput, AutoSyncLabError
            As `export_trials`.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        export_trials(self.trials, folder / TRIALS_FILE)
        write_description(folder, self.models, self.clusters, self.calibrations)

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a folder that `write` or `autosync-lab collect` wrote.

        Raises
        ------
        InvalidInput
            If there is none, or a file in it is damaged.
        """
        folder = Path(folder)
        models, clusters, calibrations = read_description(folder)
        return cls(tuple(import_trials(folder / TRIALS_FILE)), models, clusters, calibrations)


@cache
def shipped_data_set() -> DataSet:
    """The trials that come with this package; its datasheet says how they were measured."""
    return DataSet.read(SHIPPED)


def write_description(
    folder: Path,
    models: Mapping[str, ModelSpec],
    clusters: Mapping[str, ClusterSpec],
    calibrations: Mapping[str, Calibration],
) -> None:
    """Everything of a data set but its trials."""
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "models": {name: model.to_json() for name, model in models.items()},
        "clusters": {name: dump_cluster(cluster) for name, cluster in clusters.items()},
        "calibrations": {name: calibration.to_json() for name, calibration in calibrations.items()},
    }
    partial = folder / f".{DESCRIPTION_FILE}"
    partial.write_text(json.dumps(document, indent=1) + "\n")
    partial.replace(folder / DESCRIPTION_FILE)


def read_description(
    folder: Path,
) -> tuple[dict[str, ModelSpec], dict[str, ClusterSpec], dict[str, Calibration]]:
    """Inverse of `write_description`.

    Raises
    ------
    InvalidInput
        If there is none, or it is damaged.
    """
    path = folder / DESCRIPTION_FILE
    where = str(path)
    text = read_text_file(path, MAX_DESCRIPTION_BYTES, "a data set's description", InvalidInput)
    try:
        document: Any = json.loads(text)
        if document["format"] != FORMAT or document["version"] != FORMAT_VERSION:
            raise InvalidInput(f"this version reads data sets of version {FORMAT_VERSION}", where=where)
        return (
            {name: ModelSpec.from_json(m, where=where) for name, m in document["models"].items()},
            {name: parse_cluster(text, where=where, name=name) for name, text in document["clusters"].items()},
            {name: Calibration.from_json(c, where=where) for name, c in document["calibrations"].items()},
        )
    except InvalidInput:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"this is no data set's description ({error!r})", where=where) from None


def _one(mapping: Mapping[str, _T], name: str, what: str) -> _T:
    if name not in mapping:
        raise InvalidInput(f"the data set has no such {what}", received=name, valid=mapping)
    return mapping[name]
