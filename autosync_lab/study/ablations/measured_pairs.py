"""The trials of a data set as what simulators learn from."""

from dataclasses import dataclass

import numpy as np

from autosync_lab.simulator.learned import PairTrials
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.builders import builder_names
from autosync_lab.study.data_set.data_set import DataSet


@dataclass(frozen=True)
class MeasuredPair:
    """All strategies that were measured for a model on a cluster, each once.

    Parameters
    ----------
    name : str
        MODEL on CLUSTER.
    trials : PairTrials
        Repeated strategies with the median of their times.
    baseline_s : float
        Step time of the fastest builder that is lossless, seconds.
    """

    name: str
    trials: PairTrials
    baseline_s: float


def measured_pairs(data_set: DataSet, least: int = 20) -> dict[tuple[str, str], MeasuredPair]:
    """The pairs of a data set that have `least` strategies or more."""
    found = {}
    for model, cluster in data_set.pairs:
        times: dict[str, list[float]] = {}
        strategies = {}
        baselines = []
        for trial in data_set.of(model, cluster):
            assert trial.strategy is not None
            times.setdefault(trial.strategy.id, []).append(trial.step_time_s)
            strategies[trial.strategy.id] = trial.strategy
            if trial.label in builder_names() and trial.strategy.lossless:
                baselines.append(trial.step_time_s)
        if len(times) < least or not baselines:
            continue
        cost = data_set.cost_model(model, cluster)
        batch = StrategyBatch.encode(list(strategies.values()), cost.model, cost.cluster)
        medians = np.asarray([float(np.median(times[key])) for key in strategies])
        name = f"{model} on {cluster}"
        found[model, cluster] = MeasuredPair(name, PairTrials(cost, batch, medians), min(baselines))
    return found
