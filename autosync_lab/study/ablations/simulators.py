"""Which simulator orders strategies best: rankers, features, and what the cost model adds.

On measured trials: each pair's simulator learns from some of its trials and orders the others; a pair counts once, with
the mean over seeds.
"""

from collections.abc import Callable, Sequence

from autosync_lab.simulator.learned import Recipe
from autosync_lab.simulator.ranking import evaluate
from autosync_lab.study.ablations.comparison import Comparison, Expected
from autosync_lab.study.ablations.measured_pairs import MeasuredPair

METRIC = "ranking accuracy on trials that it did not learn from"

TRAINED_ON = 60
"""Trials of each pair that a simulator learns from; half of them where there are fewer than twice as many."""

CHANGES: tuple[tuple[str, str, Recipe, Recipe, str, Expected], ...] = (
    (
        "ranker",
        "RNN instead of linear",
        Recipe("linear", prior=False),
        Recipe("rnn", prior=False),
        "NCF-dense, A: 0.771 with linear, 0.894 with the RNN",
        "better",
    ),
    (
        "ranker",
        "GAT instead of RNN",
        Recipe("rnn", prior=False),
        Recipe("gat", prior=False),
        "VGG16, A: 0.796 with the RNN, 0.753 with the GAT",
        "worse",
    ),
    (
        "ranker",
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

Tell = Callable[[str], None]


def compare_simulators(pairs: Sequence[MeasuredPair], seeds: Sequence[int], tell: Tell) -> list[Comparison]:
    """Every change of `CHANGES`, over the pairs."""
    known: dict[Recipe, tuple[float, ...]] = {}

    def accuracy(recipe: Recipe) -> tuple[float, ...]:
        if recipe not in known:
            tell(f"{recipe.ranker}, {recipe.features} features{', corrects the cost model' if recipe.prior else ''}")
            scores = evaluate([p.trials for p in pairs], recipe, train=TRAINED_ON, seeds=len(seeds))
            known[recipe] = tuple(score.accuracy for score in scores)
        return known[recipe]

    return [
        Comparison(
            ablation,
            change,
            f"{len(pairs)} pairs of measured trials",
            METRIC,
            True,
            accuracy(without),
            accuracy(with_it),
            False,
            paper,
            expected,
        )
        for ablation, change, without, with_it, paper, expected in CHANGES
    ]
