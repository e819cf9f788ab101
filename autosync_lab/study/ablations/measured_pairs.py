"""The trials of a data set as what simulators learn from."""

from dataclasses import dataclass

from autosync_lab.simulator.learned import PairTrials
from autosync_lab.strategy.builders import builder_names
from autosync_lab.study.data_set.data_set import DataSet
from autosync_lab.study.stored_pairs import once_each


@dataclass(frozen=True)
class MeasuredPair:
    """All strategies that were measured for a model on a cluster, each once.

    Parameters
    ----------
    trials : PairTrials
        Repeated strategies with the median of their times.
    baseline_s : float
        Step time of the fastest builder that is lossless, seconds.
    """

    trials: PairTrials
    baseline_s: float


LEAST_STRATEGIES = 20
"""Pairs with fewer strategies are left out: they say little about order."""


def measured_pairs(data_set: DataSet) -> dict[tuple[str, str], MeasuredPair]:
    """The pairs of a data set that have `LEAST_STRATEGIES` or more, and a lossless builder among them."""
    found = {}
    for model, cluster in data_set.pairs:
        trials = data_set.of(model, cluster)
        pair = once_each(data_set.cost_model(model, cluster), trials, any(t.simulated for t in trials))
        baselines = [t.step_time_s for t in trials if t.label in builder_names() and t.strategy and t.strategy.lossless]
        if len(pair) >= LEAST_STRATEGIES and baselines:
            found[model, cluster] = MeasuredPair(pair, min(baselines))
    return found
