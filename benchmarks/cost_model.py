"""The cost model against measured trials, with no training.

    python benchmarks/cost_model.py [FOLDER]

Predicts the random strategies of a data set (the one that comes with this package, if no folder is given) in both
fidelities, with the clusters' calibrations, and prints for each pair the median absolute percentage error and the
ranking accuracy.
"""

import sys

import numpy as np

from autosync_lab.simulator.ranking import ranking_accuracy
from autosync_lab.space import StrategyBatch
from autosync_lab.study.data_set import DataSet, shipped_data_set
from autosync_lab.study.data_set.plan import RANDOM, RANDOM_PRUNED


def compare(data_set):
    """One line for each pair."""
    print("pair                             trials   fast: error ranking   timeline: error ranking")
    for m, c in data_set.pairs:
        trials = [t for t in data_set.of(m, c) if t.label in (RANDOM, RANDOM_PRUNED)]
        if len(trials) < 2:
            continue
        measured = np.asarray([t.step_time_s for t in trials])
        cost = data_set.cost_model(m, c)
        fast = cost.step_time(StrategyBatch.encode([t.strategy for t in trials], cost.model, cost.cluster))
        exact = np.asarray([cost.timeline(t.strategy).step_time_s for t in trials])
        row = f"{m:12} {c:18} {len(trials):8}"
        for predicted in (fast, exact):
            error = np.median(np.abs(predicted / measured - 1))
            row += f"   {error:12.1%} {ranking_accuracy(predicted, measured):10.3f}"
        print(row, flush=True)


if __name__ == "__main__":
    compare(DataSet.read(sys.argv[1]) if len(sys.argv) > 1 else shipped_data_set())
