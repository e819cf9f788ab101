"""What a simulator knows of other models and clusters: without a trial of its own, and in a search with a few.

On measured trials. A search is replayed: of the strategies that were measured for a pair, the simulator chooses which
one it would measure next.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned import LearnedSimulator, PairTrials, Recipe, learn
from autosync_lab.simulator.ranking import ranking_accuracy
from autosync_lab.study.ablations.comparison import Comparison
from autosync_lab.study.ablations.measured_pairs import MeasuredPair
from autosync_lab.study.ablations.piece import Piece

ACCURACY = "ranking accuracy without a trial of the pair"
SPEEDUP = "speedup over the best lossless baseline after 5 trials"
NEEDED = "trials until a strategy within 5 % of the fastest one is found"

FIRST_TRIALS = 5
"""As in the paper."""

MOST_TRIALS = 10
"""A replayed search that has found no strategy within `NEAR` of the fastest by then counts as one trial more."""

NEAR = 1.05

Pairs = Mapping[tuple[str, str], MeasuredPair]


def compare_sources(pairs: Pairs, recipes: Sequence[Recipe]) -> list[Piece]:
    """A simulator that learned from another model and another cluster, against one of the same model elsewhere."""
    return [Piece(f"transfer: {_name(r)}", 3.0, partial(_sources_compared, pairs, r)) for r in recipes]


def _sources_compared(pairs: Pairs, recipe: Recipe) -> list[Comparison]:
    similar: list[float] = []
    dissimilar: list[float] = []
    ranker = recipe.make()
    known = {key: learn([pair.trials], recipe) for key, pair in pairs.items()}
    for (model, cluster), pair in pairs.items():
        near = [k for k in pairs if k[0] == model and k[1] != cluster]
        far = [k for k in pairs if k[0] != model and k[1] != cluster]
        if not near or not far:
            continue
        prior = pair.trials.played_s if recipe.prior else None
        encoded = Encoded(pair.trials.batch, pair.trials.cost_model, recipe.features, prior)
        for sources, values in ((near, similar), (far, dissimilar)):
            said = [encoded.base + ranker.correction(known[source].state, encoded) for source in sources]
            values.append(float(np.mean([ranking_accuracy(s, pair.trials.step_time_s) for s in said])))
    return [
        Comparison(
            "transfer",
            f"from another model instead of the same one, {_name(recipe)}",
            f"{len(similar)} pairs of measured trials",
            ACCURACY,
            True,
            tuple(similar),
            tuple(dissimilar),
            False,
            "similar (BERT-3L, A to B): 0.8672; dissimilar (BERT-3L A to VGG16 B): 0.5583",
            "worse",
        )
    ]


def compare_first_trials(pairs: Pairs, recipe: Recipe) -> list[Piece]:
    """A search's first trials chosen by what the same model's other clusters taught, against what it knows alone."""
    replays: dict[tuple[str, str], tuple[list[float], list[float]]] = {}

    def replayed(key: tuple[str, str]) -> list[Comparison]:
        sources = [p.trials for k, p in pairs.items() if k[0] == key[0] and k[1] != key[1]]
        if sources:
            trials = pairs[key].trials
            alone = LearnedSimulator(trials.cost_model, recipe)
            taught = LearnedSimulator(trials.cost_model, recipe, learn(sources, recipe))
            replays[key] = replay(alone, trials, MOST_TRIALS), replay(taught, trials, MOST_TRIALS)
        return []

    def compared() -> list[Comparison]:
        found = []
        for metric, larger_is_better in ((SPEEDUP, True), (NEEDED, False)):
            without, with_it = (
                tuple(_measured(metric, both[i], pairs[key]) for key, both in replays.items()) for i in range(2)
            )
            found.append(
                Comparison(
                    "trials with transfer",
                    f"start with what other clusters taught, {_name(recipe)}",
                    f"{len(replays)} pairs of measured trials, replayed",
                    metric,
                    larger_is_better,
                    without,
                    with_it,
                    False,
                    "VGG16, A to B: 1.5x within 5 trials",
                    "better",
                )
            )
        return found

    name = _name(recipe)
    pieces = [
        Piece(f"first trials with and without transfer, {name}: {m} on {c}", 1.0, partial(replayed, (m, c)))
        for m, c in pairs
    ]
    return [*pieces, Piece(f"first trials with and without transfer, {name}: compare", 0.0, compared)]


def _measured(metric: str, times: Sequence[float], pair: MeasuredPair) -> float:
    """A replayed search, of so many step times, by one of both metrics."""
    if metric == SPEEDUP:
        return pair.baseline_s / min(times[:FIRST_TRIALS])
    return trials_needed(times, float(pair.trials.step_time_s.min()))


def trials_needed(times: Sequence[float], fastest_s: float) -> int:
    """Trials until one is within `NEAR` of the fastest; one more than there are if none is."""
    return next((i for i, t in enumerate(times, start=1) if t <= NEAR * fastest_s), len(times) + 1)


def replay(simulator: LearnedSimulator, trials: PairTrials, count: int) -> list[float]:
    """Step times of the strategies that a simulator chooses one by one, seconds, in the order of its choices.

    It learns from each before it chooses the next.
    """
    left = list(range(len(trials)))
    chosen: list[int] = []
    while left and len(chosen) < count:
        best = left[int(np.argmin(simulator.refine(trials.batch[left])))]
        chosen.append(best)
        left.remove(best)
        simulator.fit(trials.batch[chosen], trials.step_time_s[chosen])
    return [float(trials.step_time_s[i]) for i in chosen]


def _name(recipe: Recipe) -> str:
    return f"{recipe.ranker}{' on the cost model' if recipe.prior else ''}"
