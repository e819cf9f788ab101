"""What constraints do to the strategies that are drawn: how many beat the best baseline, and how good the best one is.

Two ways: on measured trials of a data set, all default constraints against none; and one by one on played clusters,
which is simulated.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.preset import load_cluster
from autosync_lab.model.catalog import load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.strategy.builders import builder_names
from autosync_lab.study.ablations.comparison import Comparison
from autosync_lab.study.ablations.piece import Piece
from autosync_lab.study.ablations.virtual_search import VirtualCluster
from autosync_lab.study.data_set.data_set import DataSet
from autosync_lab.study.data_set.plan import RANDOM, RANDOM_PRUNED

HIT_RATE = "hit rate: share of strategies that are faster than the best baseline"
SPEEDUP = "speedup of the best strategy over the best baseline"

PAPER = "load balancing and adjacent merging (BERT-large, VGG16): better speedup and hit rate"

PAIRS = (("vgg16", "cluster-a"), ("bert-3l", "cluster-b"))

DRAWN = 500
"""Strategies of each space that are played."""

SECONDS = 1.5
"""What it takes to draw from every space, once, roughly."""


def compare_constraints(data_set: DataSet, seeds: Sequence[int]) -> list[Piece]:
    """All default constraints on measured trials; then one by one, on played clusters."""
    pieces = [Piece("all constraints: measured trials", 0.5, partial(on_measured_trials, data_set))]
    for pair in PAIRS:
        what = f"constraints one by one: {pair[0]} on {pair[1]} (simulated)"
        pieces.append(Piece(what, len(seeds) * SECONDS, partial(one_by_one, *pair, seeds)))
    return pieces


def on_measured_trials(data_set: DataSet) -> list[Comparison]:
    """All default constraints against none, over the pairs of a data set."""
    hits: list[list[float]] = [[], []]
    best: list[list[float]] = [[], []]
    for model, cluster in data_set.pairs:
        trials = data_set.of(model, cluster)
        baselines = [t.step_time_s for t in trials if t.label in builder_names()]
        drawn = [np.asarray([t.step_time_s for t in trials if t.label == name]) for name in (RANDOM, RANDOM_PRUNED)]
        if not baselines or not all(len(times) for times in drawn):
            continue
        # The same number of either kind: the best of more draws is better by chance.
        count = min(map(len, drawn))
        for i, times in enumerate(drawn):
            hits[i].append(_hit_rate(times, min(baselines)))
            best[i].append(_speedup(times[:count], min(baselines)))
    return [
        Comparison(
            "constraints",
            "add all default constraints",
            "measured trials, pair by pair",
            metric,
            True,
            tuple(without),
            tuple(with_it),
            False,
            PAPER,
            "better",
        )
        for metric, (without, with_it) in ((HIT_RATE, hits), (SPEEDUP, best))
    ]


def one_by_one(model_name: str, cluster_name: str, seeds: Sequence[int]) -> list[Comparison]:
    """Each default constraint alone against none, and all of them, on played clusters."""
    model, cluster = load_model(model_name), load_cluster(cluster_name)
    places = [VirtualCluster(model, cluster, seed) for seed in seeds]
    baselines = [place.baseline_s() for place in places]
    whole = StrategySpace(model, cluster)
    free = [_drawn(place, whole) for place in places]
    found = []
    for name in (*DEFAULT_CONSTRAINTS, "all default constraints"):
        names = list(DEFAULT_CONSTRAINTS) if name not in DEFAULT_CONSTRAINTS else [name]
        kept = [_drawn(place, whole.constrain(names)) for place in places]
        for metric, of in ((HIT_RATE, _hit_rate), (SPEEDUP, _speedup)):
            found.append(
                Comparison(
                    "constraints",
                    f"add {name}",
                    f"{model_name} on {cluster_name}",
                    metric,
                    True,
                    tuple(of(times, b) for times, b in zip(free, baselines, strict=True)),
                    tuple(of(times, b) for times, b in zip(kept, baselines, strict=True)),
                    True,
                    PAPER,
                    "better" if name in ("load-balance", "adjacent-merge", "all default constraints") else "",
                )
            )
    return found


def _drawn(place: VirtualCluster, space: StrategySpace) -> npt.NDArray[np.float64]:
    return place.truth.step_time(space.sample(DRAWN, place.seed))


def _hit_rate(times: npt.NDArray[np.float64], baseline_s: float) -> float:
    return float(np.mean(times < baseline_s))


def _speedup(times: npt.NDArray[np.float64], baseline_s: float) -> float:
    return float(baseline_s / times.min())
