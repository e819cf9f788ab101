"""The cost model against measured trials.

    python benchmarks/cost_model.py collect --store FILE [--trials 100] [--lock FILE]
    python benchmarks/cost_model.py compare --store FILE

`collect` measures random strategies of every model on every cluster, in rounds over the pairs, and can be stopped and
started again: what is in the store is not measured again. With --lock, each trial holds that file (flock), so that other
heavy programs can wait for their turn. `compare` predicts every trial and prints, for each pair, the median absolute
percentage error and the ranking accuracy.
"""

import argparse
import fcntl
from contextlib import contextmanager

import numpy as np

import autosync_lab as asl
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.strategy import builder_names

MODELS = ("vgg-mini", "resnet-mini", "ncf-small", "bert-tiny")
CLUSTERS = ("emulated-4", "emulated-hetero-4", "emulated-servers")
ROUND = 10
STEPS = 5


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("collect", "compare"))
    parser.add_argument("--store", required=True)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--lock")
    arguments = parser.parse_args()
    with asl.TrialStore(arguments.store) as store:
        if arguments.what == "collect":
            collect(store, arguments.trials, arguments.lock)


if __name__ == "__main__":
    main()
