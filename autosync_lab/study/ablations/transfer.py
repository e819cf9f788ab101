"""What a simulator knows of other models and clusters: without a trial of its own, and in a search with a few.

On measured trials. A search is replayed: of the strategies that were measured for a pair, the simulator chooses which
one it would measure next.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autosync_lab.simulator.learned import Knowledge, LearnedSimulator, PairTrials, Recipe, learn
from autosync_lab.simulator.ranking import ranking_accuracy
from autosync_lab.study.ablations.comparison import Comparison
from autosync_lab.study.ablations.measured_pairs import MeasuredPair

ACCURACY = "ranking accuracy without a trial of the pair"
SPEEDUP = "speedup over the best lossless baseline after 5 trials"

TARGET_TRIALS = 5

Pairs = Mapping[tuple[str, str], MeasuredPair]
Tell = Callable[[str], None]


def compare_sources(pairs: Pairs, recipes: Sequence[Recipe], tell: Tell) -> list[Comparison]:
    """A simulator that learned from another model and another cluster, against one of the same model elsewhere."""
    found = []
    for recipe in recipes:
        tell(f"transfer: {recipe.ranker}{', corrects the cost model' if recipe.prior else ''}")
        similar: list[float] = []
        dissimilar: list[float] = []
        known = {key: learn([pair.trials], recipe) for key, pair in pairs.items()}
        for (model, cluster), pair in pairs.items():
            near = [k for k in pairs if k[0] == model and k[1] != cluster]
            far = [k for k in pairs if k[0] != model and k[1] != cluster]
            if not near or not far:
                continue
            for sources, values in ((near, similar), (far, dissimilar)):
                accuracy = [_zero_shot(known[source], recipe, pair.trials) for source in sources]
                values.append(float(np.mean(accuracy)))
        found.append(
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
        )
    return found


def compare_first_trials(pairs: Pairs, recipe: Recipe, tell: Tell) -> Comparison:
    """A search's first trials chosen by what the same model's other clusters taught, against the cost model alone."""
    tell(f"first trials with and without transfer: {_name(recipe)}")
    without: list[float] = []
    with_it: list[float] = []
    for (model, cluster), pair in pairs.items():
        sources = [p.trials for k, p in pairs.items() if k[0] == model and k[1] != cluster]
        if not sources:
            continue
        cost = pair.trials.cost_model
        alone, taught = LearnedSimulator(cost, recipe), LearnedSimulator(cost, recipe, learn(sources, recipe))
        for simulator, values in ((alone, without), (taught, with_it)):
            values.append(pair.baseline_s / min(replay(simulator, pair.trials, TARGET_TRIALS)))
    return Comparison(
        "trials with transfer",
        f"start with what other clusters taught, {_name(recipe)}",
        f"{len(without)} pairs of measured trials, replayed",
        SPEEDUP,
        True,
        tuple(without),
        tuple(with_it),
        False,
        "VGG16, A to B: 1.5x within 5 trials",
        "better",
    )


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


def _zero_shot(knowledge: Knowledge, recipe: Recipe, test: PairTrials) -> float:
    said = LearnedSimulator(test.cost_model, recipe, knowledge).refine(test.batch)
    return ranking_accuracy(said, test.step_time_s)


def _name(recipe: Recipe) -> str:
    return f"{recipe.ranker}{' on the cost model' if recipe.prior else ''}"
