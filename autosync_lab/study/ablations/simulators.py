"""Which simulator orders strategies best: rankers, features, and what the cost model adds.

On measured trials: each pair's simulator learns from some of its trials and orders the others; a pair counts once, with
the mean over splits.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from autosync_lab.simulator.learned import Recipe
from autosync_lab.simulator.ranking import evaluate
from autosync_lab.study.ablations.comparison import Comparison, Expected
from autosync_lab.study.ablations.measured_pairs import MeasuredPair
from autosync_lab.study.ablations.piece import Piece

METRIC = "ranking accuracy on trials that it did not learn from"

TRAINED_ON = 60
"""Trials of each pair that a simulator learns from; half of them where there are fewer than twice as many."""

CHANGES: tuple[tuple[str, str, Recipe, Recipe, str, Expected], ...] = (
    (
        "rankers",
        "RNN instead of linear",
        Recipe("linear", prior=False),
        Recipe("rnn", prior=False),
        "NCF-dense, A: 0.771 with linear, 0.894 with the RNN",
        "better",
    ),
    (
        "rankers",
        "GAT instead of RNN",
        Recipe("rnn", prior=False),
        Recipe("gat", prior=False),
        "VGG16, A: 0.796 with the RNN, 0.753 with the GAT",
        "worse",
    ),
    (
        "rankers",
        "boosted trees instead of RNN",
        Recipe("rnn", prior=False),
        Recipe("boosted", prior=False),
        "not in the paper",
        "",
    ),
    (
        "features",
        "add raw to predefined features",
        Recipe("rnn", "predefined", prior=False),
        Recipe("rnn", "both", prior=False),
        "VGG16, A: 0.734 to 0.796",
        "better",
    ),
    (
        "features",
        "add predefined to raw features",
        Recipe("rnn", "raw", prior=False),
        Recipe("rnn", "both", prior=False),
        "0.907 to 0.913 (NCF-dense, B), 0.850 to 0.847 (BERT-large, A)",
        "",
    ),
    (
        "features",
        "correct the cost model's prediction, RNN",
        Recipe("rnn", prior=False),
        Recipe("rnn"),
        "not in the paper",
        "",
    ),
    (
        "features",
        "correct the cost model's prediction, Gaussian process",
        Recipe("gp", prior=False),
        Recipe("gp"),
        "not in the paper",
        "",
    ),
)
"""Ablation, change, recipe without it, recipe with it, what the paper says, what that leads one to expect."""

SECONDS = {"linear": 0.02, "gp": 0.05, "boosted": 0.1, "rnn": 1.3, "gat": 1.8, "ensemble": 0.3}
"""What learning from one split of a pair takes by ranker, roughly, where two pairs learn at a time."""


Accuracies = dict[Recipe, tuple[float, ...]]
"""Ranking accuracy on each pair, of recipes that have been evaluated."""


def compare_simulators(ablation: str, pairs: Sequence[MeasuredPair], splits: int, known: Accuracies) -> list[Piece]:
    """The changes of `CHANGES` that are of an ablation, over the pairs.

    Parameters
    ----------
    ablation : {"rankers", "features"}
    pairs : sequence of MeasuredPair
    splits : int
        Of each pair's trials into those that are learned from and those that are ranked.
    known : dict
        What is in it is not evaluated again; what is evaluated is added.
    """
    changes = [change for change in CHANGES if change[0] == ablation]

    def evaluated(recipe: Recipe) -> list[Comparison]:
        if recipe not in known:
            known[recipe] = _accuracies(pairs, recipe, splits)
        return []

    def compared() -> list[Comparison]:
        return [
            Comparison(
                ablation,
                change,
                f"{len(pairs)} pairs of measured trials",
                METRIC,
                True,
                known[without],
                known[with_it],
                False,
                paper,
                expected,
            )
            for _, change, without, with_it, paper, expected in changes
        ]

    recipes = dict.fromkeys(recipe for change in changes for recipe in change[2:4])
    pieces = [
        Piece(
            f"{ablation}: {r.ranker}, {r.features} features{', corrects the cost model' if r.prior else ''}",
            len(pairs) * splits * SECONDS[r.ranker],
            partial(evaluated, r),
        )
        for r in recipes
        if r not in known
    ]
    return [*pieces, Piece(f"{ablation}: compare", 0.0, compared)]


def _accuracies(pairs: Sequence[MeasuredPair], recipe: Recipe, splits: int) -> tuple[float, ...]:
    """Mean ranking accuracy of each pair; as many pairs learn at a time as there are processors."""

    def accuracy(pair: MeasuredPair) -> float:
        (score,) = evaluate([pair.trials], recipe, train=TRAINED_ON, seeds=splits)
        return score.accuracy

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return tuple(pool.map(accuracy, pairs))
