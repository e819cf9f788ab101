"""How fast are the strategies that each search algorithm finds, with the same number of trials?

    python benchmarks/search.py virtual --calibrations FOLDER [--store FILE] [--trials 50] [--seeds 5]
    python benchmarks/search.py real MODEL CLUSTER --store FILE [--trials 50] [--seeds 5]

`virtual` plays clusters whose constants are those of CLUSTER.json in a folder (of `autosync-lab calibrate`), while the
search believes the typical ones: its results are simulated. `real` measures, and at the end measures the winner of
every run again, interleaved. Both can be stopped and started again with the same store.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import autosync_lab as asl
from autosync_lab.runtime import Runner, Trial
from autosync_lab.search import ALGORITHMS
from autosync_lab.simulator import Calibration, VirtualRunner

PAIRS = (
    ("vgg-mini", "emulated-4"),
    ("vgg-mini", "emulated-servers"),
    ("ncf-small", "emulated-4"),
    ("ncf-small", "emulated-hetero-4"),
    ("bert-tiny", "emulated-hetero-4"),
    ("lm-small", "emulated-servers"),
)
BASELINES = ("ps-load-balanced", "horovod")
STEPS = 4
FINALS = 5


def searched(
    model: asl.ModelSpec,
    cluster: asl.ClusterSpec,
    runner: Runner | VirtualRunner,
    store: Path | None,
    trials: int,
    seeds: int,
) -> Iterator[tuple[str, int, Trial]]:
    """Algorithm, seed and fastest proposal of every run."""
    for seed in range(seeds):
        for algorithm in ALGORITHMS:
            name = f"{model.name} on {cluster.name}, {algorithm}, seed {seed}"
            with asl.Study(model, cluster, store, name=name, seed=seed, steps=STEPS) as study:
                study.run(trials, 8, algorithm, baselines=BASELINES, runner=runner, confirm=False)
                found = [r.trial for r in study.records if r.role == "proposal" and r.ok]
            yield algorithm, seed, min(found, key=lambda t: t.step_time_s)


def told(pair: str, times: dict[str, list[float]], simulated: bool) -> None:
    """Print one pair's medians, and in how many seeds each algorithm is the fastest."""
    table = np.asarray([times[a] for a in ALGORITHMS])
    wins = np.bincount(table.argmin(axis=0), minlength=len(ALGORITHMS))
    for algorithm, row, won in zip(ALGORITHMS, table, wins, strict=True):
        print(
            f"{pair:30} {algorithm:9} median {np.median(row) * 1e3:7.1f} ms, {row.min() * 1e3:.1f} to"
            f" {row.max() * 1e3:.1f}; fastest in {won} of {len(row)}{' (simulated)' if simulated else ''}",
            flush=True,
        )


def virtual(folder: Path, store: Path | None, trials: int, seeds: int) -> None:
    """Search all pairs on played clusters."""
    for m, c in PAIRS:
        model, cluster = asl.load_model(m), asl.load_cluster(c)
        runner = VirtualRunner(cluster, Calibration.read(folder / f"{c}.json"))
        times: dict[str, list[float]] = {a: [] for a in ALGORITHMS}
        for algorithm, _, best in searched(model, cluster, runner, store, trials, seeds):
            times[algorithm].append(best.step_time_s)
        told(f"{m} on {c}", times, True)


def real(m: str, c: str, store: Path, trials: int, seeds: int) -> None:
    """Search one pair on its cluster, and measure all winners again."""
    model, cluster = asl.load_model(m), asl.load_cluster(c)
    with asl.open_cluster(cluster) as runner:
        winners = []
        for algorithm, seed, best in searched(model, cluster, runner, store, trials, seeds):
            print(f"{algorithm:9} seed {seed}: {best.step_time_s * 1e3:.1f} ms as proposed", flush=True)
            winners.append((algorithm, best))
        again: list[list[float]] = [[] for _ in winners]
        for _ in range(FINALS):
            for samples, (algorithm, best) in zip(again, winners, strict=True):
                assert best.strategy is not None
                samples.append(runner.measure(model, best.strategy, steps=STEPS, label=algorithm).step_time_s)
    times: dict[str, list[float]] = {a: [] for a in ALGORITHMS}
    for samples, (algorithm, _) in zip(again, winners, strict=True):
        times[algorithm].append(float(np.median(samples)))
    told(f"{m} on {c}", times, False)


def main() -> None:
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_subparsers(dest="what", required=True)
    played, measured = which.add_parser("virtual"), which.add_parser("real")
    played.add_argument("--calibrations", type=Path, required=True)
    measured.add_argument("model")
    measured.add_argument("cluster")
    played.add_argument("--store", type=Path)
    measured.add_argument("--store", type=Path, required=True)
    for one in (played, measured):
        one.add_argument("--trials", type=int, default=50)
        one.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "virtual":
        virtual(arguments.calibrations, arguments.store, arguments.trials, arguments.seeds)
    else:
        real(arguments.model, arguments.cluster, arguments.store, arguments.trials, arguments.seeds)


if __name__ == "__main__":
    main()
