"""Measuring a data set. It is written as it goes on, and goes on where an earlier collection ended."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime import open_cluster
from autosync_lab.simulator.calibrate import fit_calibration, probe
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.corrected import CorrectedCostModel
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.study.data_set.data_set import (
    DATASHEET_FILE,
    DESCRIPTION_FILE,
    DataSet,
    read_description,
    write_description,
)
from autosync_lab.study.data_set.datasheet import datasheet
from autosync_lab.study.data_set.plan import STEPS, WARMUP, Planned, missing, plan
from autosync_lab.study.event import StudyEvent
from autosync_lab.study.measures import Measures
from autosync_lab.study.store import TrialStore
from autosync_lab.study.study import Study

STORE_FILE = "trials.db"

BASELINES = ("horovod", "ps-load-balanced")
"""Measured once more at the start of each search."""


class Watcher(Protocol):
    """What is told how far a collection is."""

    def planned(self, trials: int) -> None:
        """So many trials are still to come, searches' ones included."""

    def calibrating(self, cluster: str) -> None:
        """A cluster's constants are being measured."""

    def ended(self, pair: str, label: str, step_time_s: float) -> None:
        """A trial has ended, and is stored; its step time is NaN if it failed."""


@dataclass(frozen=True)
class Collection:
    """What is to be collected.

    Parameters
    ----------
    models : sequence of ModelSpec
    clusters : sequence of ClusterSpec
    random : int
        Random strategies of each pair, half of the whole space, half of the pruned one.
    searched : int
        Proposals of a search on each pair.
    """

    models: Sequence[ModelSpec]
    clusters: Sequence[ClusterSpec]
    random: int = 100
    searched: int = 16


def collect(what: Collection, folder: str | Path, watcher: Watcher) -> DataSet:
    """Measure what the folder's store does not have yet, and write the data set.

    First each cluster's calibration and the models' compute times, where they are not known; then builders and random
    strategies, in rounds over all pairs; then a search on each pair. Run it alone on the machine: what else takes time
    is measured too.

    Raises
    ------
    InvalidInput
        If the folder holds a data set of models or clusters of these names and other content.
    AutoSyncLabError
        If a cluster cannot be started or calibrated, or the system refuses to write.
    KeyboardInterrupt
        After Ctrl-C; what was measured is stored.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    models, clusters, calibrations = _described(folder)
    _require_same(models, {m.name: m for m in what.models}, "model")
    _require_same(clusters, {c.name: c for c in what.clusters}, "cluster")
    path = folder / STORE_FILE
    with TrialStore(path) as store:
        todo = {
            (m.name, c.name): missing(plan(m, c, what.random), store.trials(m.hash, c.hash))
            for c in what.clusters
            for m in what.models
        }
        searches = _unfinished(what, path)
        watcher.planned(sum(len(r) for rounds in todo.values() for r in rounds) + sum(searches.values()))
        for cluster in what.clusters:
            clusters[cluster.name] = cluster
            unknown = [m for m in what.models if m.name not in models]
            if unknown or cluster.name not in calibrations:
                with open_cluster(cluster) as runner:
                    for model in unknown:
                        profile = runner.profile(model)
                        models[model.name] = model.with_profile(profile.compute_s, profile.ready_s)
                    if cluster.name not in calibrations:
                        watcher.calibrating(cluster.name)
                        calibrations[cluster.name], _ = fit_calibration(probe(runner), cluster)
                write_description(folder, models, clusters, calibrations)
        for number in range(max(map(len, todo.values()))):
            for cluster in what.clusters:
                turn = [(m, todo[m.name, cluster.name][number : number + 1]) for m in what.models]
                if any(rounds and rounds[0] for _, rounds in turn):
                    _measure(turn, cluster, store, watcher)
        for cluster in what.clusters:
            chosen = [m for m in what.models if searches[m.name, cluster.name]]
            if chosen:
                with open_cluster(cluster) as runner:
                    for model in chosen:
                        cost = CostModel(models[model.name], cluster, calibrations[cluster.name])
                        _search(what, model, cluster, cost, path, runner, watcher)
        data_set = DataSet(tuple(store.trials()), models, clusters, calibrations)
    data_set.write(folder)
    (folder / DATASHEET_FILE).write_text(datasheet(data_set))
    return data_set


def _described(
    folder: Path,
) -> tuple[dict[str, ModelSpec], dict[str, ClusterSpec], dict[str, Calibration]]:
    return read_description(folder) if (folder / DESCRIPTION_FILE).exists() else ({}, {}, {})


def _require_same(
    known: Mapping[str, ModelSpec | ClusterSpec], wanted: Mapping[str, ModelSpec | ClusterSpec], what: str
) -> None:
    for name in known.keys() & wanted.keys():
        if known[name].hash != wanted[name].hash:
            raise InvalidInput(f"the folder's data set has another {what} of this name", received=name)


def _measure(
    turn: Sequence[tuple[ModelSpec, Sequence[Sequence[Planned]]]],
    cluster: ClusterSpec,
    store: TrialStore,
    watcher: Watcher,
) -> None:
    with open_cluster(cluster) as runner:
        for model, rounds in turn:
            for planned in (item for r in rounds for item in r):
                trial = runner.measure(model, planned.strategy, steps=STEPS, warmup=WARMUP, label=planned.label)
                store.add(trial)
                watcher.ended(_pair(model, cluster), planned.label, trial.step_time_s)


def _pair(model: ModelSpec, cluster: ClusterSpec) -> str:
    return f"{model.name} on {cluster.name}"


def _name(model: ModelSpec, cluster: ClusterSpec) -> str:
    return f"data set: {_pair(model, cluster)}"


def _unfinished(what: Collection, path: Path) -> dict[tuple[str, str], int]:
    """Proposals that each pair's search has still to measure."""
    names = Study.names(path)
    left = {}
    for cluster in what.clusters:
        for model in what.models:
            done = 0
            if _name(model, cluster) in names:
                with Study.open(path, _name(model, cluster)) as study:
                    done = sum(r.role == "proposal" and r.measured for r in study.records)
            left[model.name, cluster.name] = max(0, what.searched - done)
    return left


def _search(
    what: Collection,
    model: ModelSpec,
    cluster: ClusterSpec,
    cost: CostModel,
    path: Path,
    runner: Measures,
    watcher: Watcher,
) -> None:
    def tell(event: StudyEvent) -> None:
        if event.kind == "trial-ended":
            time_s = event.data["step_time_s"]
            watcher.ended(_pair(model, cluster), event.data["role"], math.nan if time_s is None else time_s)

    with Study(model, cluster, path, name=_name(model, cluster), lossy=True, steps=STEPS, warmup=WARMUP) as study:
        study.run(
            what.searched,
            simulator=CorrectedCostModel(cost),
            baselines=BASELINES,
            runner=runner,
            confirm=False,
            on_event=tell,
        )
