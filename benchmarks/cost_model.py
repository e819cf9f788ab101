"""The cost model against measured trials.

    python benchmarks/cost_model.py collect --store FILE [--trials 100] [--lock FILE]
    python benchmarks/cost_model.py compare --store FILE [--calibrations FOLDER]

`collect` measures random strategies of every model on every cluster, in rounds over the pairs, and can be stopped and
started again: what is in the store is not measured again. With --lock, each trial holds that file (flock), so that
other heavy programs can wait for their turn. `compare` predicts every trial and prints, for each pair, the median
absolute percentage error and the ranking accuracy.
"""

import argparse
import fcntl
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import autosync_lab as asl
from autosync_lab.simulator import Calibration
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategyBatch, StrategySpace
from autosync_lab.strategy import builder_names

MODELS = ("vgg-mini", "resnet-mini", "ncf-small", "bert-tiny")
CLUSTERS = ("emulated-4", "emulated-hetero-4", "emulated-servers")
ROUND = 10
STEPS = 4


@contextmanager
def held(path):
    """The file's lock, if a file is given."""
    if path is None:
        yield
        return
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def plan(model, cluster, count):
    """Label and strategy of every trial: the builders', then random ones, of the whole and of the pruned space."""
    space = StrategySpace(model, cluster, lossy=True)
    pruned = space.constrain(DEFAULT_CONSTRAINTS)
    whole, few = space.sample(count - count // 2, seed=0), pruned.sample(count // 2, seed=1)
    strategies = [(name, asl.build_strategy(name, model, cluster)) for name in builder_names()]
    for i in range(len(whole)):
        strategies.append(("random", whole[i]))
        if i < len(few):
            strategies.append(("random-pruned", few[i]))
    return strategies


def collect(store, trials, lock):
    """Measure what is missing."""
    models = {name: asl.load_model(name) for name in MODELS}
    clusters = {name: asl.load_cluster(name) for name in CLUSTERS}
    plans = {(m, c): plan(models[m], clusters[c], trials) for m in MODELS for c in CLUSTERS}
    longest = max(map(len, plans.values()))
    for begin in range(0, longest, ROUND):
        for c, cluster in clusters.items():
            todo = []
            for m, model in models.items():
                done = {t.strategy_id for t in store.trials(model.hash, cluster.hash)}
                chosen = plans[m, c][begin : begin + ROUND]
                todo += [(model, label, s) for label, s in chosen if s.id not in done]
            if not todo:
                continue
            with asl.open_cluster(cluster) as runner:
                for model, label, strategy in todo:
                    with held(lock):
                        trial = runner.measure(model, strategy, steps=STEPS, warmup=1, label=label)
                    store.add(trial)
                    print(
                        f"{model.name:12} {c:18} {label:24} {trial.status:8} {trial.step_time_s:8.3f} s"
                        f"  {trial.total_s:6.1f} s in all",
                        flush=True,
                    )


def compare(store, calibrations):
    """Predict every trial in both fidelities; print how far off they are, pair by pair."""
    print("pair                             trials   fast: error ranking   timeline: error ranking")
    for c in CLUSTERS:
        cluster = asl.load_cluster(c)
        calibration = Calibration.read(calibrations / f"{c}.json") if calibrations else None
        with asl.open_cluster(cluster) as runner:
            for m in MODELS:
                model = asl.load_model(m)
                profile = runner.profile(model)
                trials = [t for t in store.trials(model.hash, cluster.hash, "ok") if t.label.startswith("random")]
                if len(trials) < 2:
                    continue
                measured = np.asarray([t.step_time_s for t in trials])
                profiled = model.with_profile(profile.compute_s, profile.ready_s)
                cost = asl.CostModel(profiled, cluster, calibration)
                batch = StrategyBatch.encode([t.strategy for t in trials], profiled, cluster)
                fast = cost.step_time(batch)
                exact = np.asarray([cost.timeline(t.strategy).step_time_s for t in trials])
                row = f"{m:12} {c:18} {len(trials):8}"
                for predicted in (fast, exact):
                    error = np.median(np.abs(predicted / measured - 1))
                    row += f"   {error:12.1%} {ranking_accuracy(predicted, measured):10.3f}"
                print(row, flush=True)


def ranking_accuracy(predicted, measured):
    """Share of pairs of trials whose order is predicted right."""
    i, j = np.triu_indices(len(measured), 1)
    return float(np.mean(np.sign(predicted[i] - predicted[j]) == np.sign(measured[i] - measured[j])))


def main():
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("collect", "compare"))
    parser.add_argument("--store", required=True)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--lock")
    parser.add_argument("--calibrations", type=Path, help="folder with CLUSTER.json of `autosync-lab calibrate`")
    arguments = parser.parse_args()
    with asl.TrialStore(arguments.store) as store:
        if arguments.what == "collect":
            collect(store, arguments.trials, arguments.lock)
        else:
            compare(store, arguments.calibrations)


if __name__ == "__main__":
    main()
