"""Do learned simulators keep up with a search of a large model?

    python benchmarks/learned.py [NAME ...] [--model bert-large] [--cluster emulated-4] [--trials 200]

For each ranker: seconds to learn from the trials, the first time (with what is traced or loaded once) and again, and
candidates scored per second. Times of the trials are simulated: only the speed of learning is measured here. How well
simulators rank measured trials is what `autosync-lab rank STORE` says.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

import autosync_lab as asl
from autosync_lab.simulator import RANKERS, LearnedSimulator, Recipe
from autosync_lab.space import DEFAULT_CONSTRAINTS


def seconds(act):
    """How long something takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def main():
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rankers (default: {' '.join(RANKERS)})")
    parser.add_argument("--model", default="bert-large")
    parser.add_argument("--cluster", default="emulated-4")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=2000)
    arguments = parser.parse_args()
    model, cluster = asl.load_model(arguments.model), asl.load_cluster(arguments.cluster)
    space = asl.StrategySpace(model, cluster).constrain(DEFAULT_CONSTRAINTS)
    cost = asl.CostModel(model, cluster)
    other = replace(cost.calibration, push_s=3 * cost.calibration.push_s, exchange_s=3 * cost.calibration.exchange_s)
    trials, candidates = space.sample(arguments.trials, 0), space.sample(arguments.candidates, 1)
    times = asl.CostModel(model, cluster, other).step_time(trials)
    shards = len(trials.destination) / len(trials)
    print(
        f"{model.name} on {cluster.name}: {len(model.variables)} variables, {shards:.0f} shards, {len(trials)} trials"
    )
    cost.step_time(candidates[:1])
    print(f"{'cost-model':12} scores {len(candidates) / seconds(lambda: cost.step_time(candidates)):9,.0f} per second")
    for name in arguments.names or RANKERS:
        simulator = LearnedSimulator(cost, Recipe(name))
        first, again = (seconds(lambda s=simulator: s.fit(trials, times)) for _ in range(2))
        simulator.predict(candidates[:1])
        rate = len(candidates) / seconds(lambda s=simulator: s.predict(candidates))
        exact = np.corrcoef(np.log(simulator.refine(trials)), np.log(times))[0, 1]
        print(
            f"{name:12} learns in {first:6.1f} s, again in {again:6.1f} s; scores {rate:9,.0f} per second;"
            f" correlation with what it learned {exact:.3f} (simulated times)",
            flush=True,
        )


if __name__ == "__main__":
    main()
