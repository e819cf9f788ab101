"""The trials of a store, a Parquet file or a data set, by model and cluster: what simulators learn from."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autosync_lab.cluster.preset import cluster_names, load_cluster
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.catalog import load_model, model_names
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.learned import PairTrials
from autosync_lab.simulator.ranking import repeat_noise
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.builders import builder_names
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.config import stored_cluster
from autosync_lab.study.data_set.data_set import DataSet
from autosync_lab.study.parquet import import_trials
from autosync_lab.study.store import TrialStore
from autosync_lab.study.study_store import StudyStore


@dataclass(frozen=True)
class StoredPairs:
    """What a simulator can learn from and be tried on.

    Parameters
    ----------
    pairs : tuple of PairTrials
        Each strategy once, with the median of its times; measured and simulated ones apart.
    baselines_s : mapping of str to float
        Step time of the fastest builder, seconds, by `PairTrials.key`.
    noise : float
        Standard deviation of the logarithm of one step time, from repeated strategies; NaN if there are none.
    unknown : tuple of str
        MODEL on CLUSTER of trials that are left out: no study, catalog or preset describes these.
    """

    pairs: tuple[PairTrials, ...]
    baselines_s: Mapping[str, float]
    noise: float
    unknown: tuple[str, ...]


def read_pairs(path: str | Path, calibrations: str | Path | None = None) -> StoredPairs:
    """Read a trial store (SQLite), a Parquet file, or the folder of a data set.

    Parameters
    ----------
    path : path-like
    calibrations : path-like, optional
        A folder with CLUSTER.json of `autosync-lab calibrate`; clusters without one have the data set's constants, or
        typical ones.

    Raises
    ------
    InvalidInput
        If it is none of these, or one of its files is damaged.
    StoreUnavailable
        If the system refuses.
    """
    path = Path(path)
    if path.is_dir():
        data = DataSet.read(path)
        trials: Iterable[Trial] = data.trials
        models, clusters, constants = dict(data.models), dict(data.clusters), dict(data.calibrations)
    elif path.suffix == ".parquet":
        trials, models, clusters, constants = import_trials(path), {}, {}, {}
    else:
        with TrialStore.open_readonly(path) as store:
            trials = store.trials()
            models, clusters = _of_studies(StudyStore(store), str(path))
        constants = {}
    for name in model_names():
        models.setdefault(name, load_model(name))
    for name in cluster_names():
        clusters.setdefault(name, load_cluster(name))
    if calibrations is not None:
        constants |= {name: Calibration.read(file) for name, file in _files(Path(calibrations), clusters)}
    return _joined(trials, models, clusters, constants)


def _of_studies(studies: StudyStore, where: str) -> tuple[dict[str, ModelSpec], dict[str, ClusterSpec]]:
    """Models, with the times that they had, and clusters of all studies of a store."""
    models, clusters = {}, {}
    for name in studies.names():
        config = studies.config(name) or {}
        try:
            model, cluster = ModelSpec.from_json(config["model"], where=where), stored_cluster(config, where)
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"this study is damaged ({error!r})", where=f"{where}: study {name!r}") from None
        models[model.name], clusters[cluster.name] = model, cluster
    return models, clusters


def _files(folder: Path, names: Iterable[str]) -> list[tuple[str, Path]]:
    if not folder.is_dir():
        raise InvalidInput("calibrations are a folder with CLUSTER.json", received=str(folder))
    return [(name, folder / f"{name}.json") for name in names if (folder / f"{name}.json").is_file()]


def _joined(
    trials: Iterable[Trial],
    models: Mapping[str, ModelSpec],
    clusters: Mapping[str, ClusterSpec],
    constants: Mapping[str, Calibration],
) -> StoredPairs:
    model_of = {model.hash: model for model in models.values()}
    cluster_of = {cluster.hash: cluster for cluster in clusters.values()}
    found: dict[tuple[str, str, bool], list[Trial]] = {}
    unknown: dict[str, None] = {}
    for trial in trials:
        if trial.status != "ok" or trial.strategy is None or not trial.step_time_s > 0:
            continue
        if trial.model_hash in model_of and trial.cluster_hash in cluster_of:
            found.setdefault((trial.model_hash, trial.cluster_hash, trial.simulated), []).append(trial)
        else:
            unknown[f"{trial.model} on {trial.cluster}"] = None
    pairs: dict[str, PairTrials] = {}
    baselines: dict[str, float] = {}
    repeats: list[tuple[str, float]] = []
    # What was measured goes before what was simulated of the same pair.
    for model, cluster, simulated in sorted(found, key=lambda key: key[2]):
        group = found[model, cluster, simulated]
        spec = cluster_of[cluster]
        pair = once_each(CostModel(model_of[model], spec, constants.get(spec.name)), group, simulated)
        if pair.key in pairs:
            continue
        pairs[pair.key] = pair
        repeats += [(f"{pair.key}/{t.strategy_id}", t.step_time_s) for t in group]
        with suppress(ValueError):
            baselines[pair.key] = min(t.step_time_s for t in group if t.label in builder_names())
    return StoredPairs(tuple(pairs.values()), baselines, repeat_noise(repeats), tuple(unknown))


def once_each(cost_model: CostModel, trials: Iterable[Trial], simulated: bool) -> PairTrials:
    """The strategies of a pair's trials, each once, with the median of its times."""
    times: dict[Strategy, list[float]] = {}
    for trial in trials:
        assert trial.strategy is not None
        times.setdefault(trial.strategy, []).append(trial.step_time_s)
    batch = StrategyBatch.encode(list(times), cost_model.model, cost_model.cluster)
    medians = np.asarray([float(np.median(seconds)) for seconds in times.values()])
    return PairTrials(cost_model, batch, medians, simulated)
