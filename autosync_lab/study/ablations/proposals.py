"""Where proposals come from: bred from the best candidates, or drawn from the space; scored by a simulator, or not.

Searches of some trials on played clusters, one for each seed; simulated.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from autosync_lab.cluster.preset import load_cluster
from autosync_lab.model.catalog import load_model
from autosync_lab.search import AutoSync, Genetic, RandomSearch
from autosync_lab.study.ablations.comparison import Comparison, Expected
from autosync_lab.study.ablations.piece import Piece
from autosync_lab.study.ablations.quick_simulator import QuickCorrected
from autosync_lab.study.ablations.virtual_search import AlgorithmOf, VirtualCluster

METRIC = "speedup over the best of parameter servers and Horovod"

PAIRS_OF_SIMULATOR = (("ncf-dense", "cluster-a"), ("vgg16", "cluster-a"), ("bert-3l", "cluster-b"))
PAIRS_OF_PROPOSALS = (("vgg16", "cluster-a"),)

ALGORITHMS: Mapping[str, AlgorithmOf] = {
    "diverse draws": lambda at: AutoSync(at.space(), at.seed, None),
    "scored draws": lambda at: AutoSync(at.space(), at.seed, QuickCorrected(at.belief), generations=0),
    "scored children": lambda at: AutoSync(at.space(), at.seed, QuickCorrected(at.belief)),
    "random": lambda at: RandomSearch(at.space(), at.seed),
    "genetic": lambda at: Genetic(at.space(), at.seed),
}
"""How each kind of proposals is searched with."""

SECONDS = {"diverse draws": 0.4, "scored draws": 0.7, "scored children": 2.5, "random": 0.1, "genetic": 0.1}
"""What a search of 24 trials takes, roughly."""


def add_simulator(seeds: Sequence[int], trials: int) -> list[Piece]:
    """A simulator scores the draws, instead of diversity alone (the paper's AutoSync(-s))."""
    return [
        _piece(
            "simulator",
            "score proposals with a simulator",
            pair,
            seeds,
            trials,
            "diverse draws",
            "scored draws",
            "up to 1.4x without, 1.2x to 1.6x with its simulator (NCF-dense, VGG16, BERT-large)",
            "better",
        )
        for pair in PAIRS_OF_SIMULATOR
    ]


def breed_proposals(seeds: Sequence[int], trials: int) -> list[Piece]:
    """Genetic proposals instead of random ones: with a simulator that scores them, and as whole algorithms."""
    return [
        _piece(
            "proposals",
            f"genetic instead of random proposals, {how}",
            pair,
            seeds,
            trials,
            without,
            with_it,
            "VGG16, A: best step 0.60 s with random, 0.64 s with genetic proposals",
            "worse",
        )
        for pair in PAIRS_OF_PROPOSALS
        for how, without, with_it in (
            ("scored by a simulator", "scored draws", "scored children"),
            ("without a simulator", "random", "genetic"),
        )
    ]


@cache
def speedup(model: str, cluster: str, seed: int, algorithm: str, trials: int) -> float:
    """Step time of the best baseline over that of the best strategy that a search finds; simulated.

    Parameters
    ----------
    model, cluster : str
        Names in the catalog and of a preset.
    seed : int
        Of the played cluster and of the search.
    algorithm : str
        One of `ALGORITHMS`.
    trials : int
    """
    at = VirtualCluster(load_model(model), load_cluster(cluster), seed)
    return float(at.baseline_s() / at.search(ALGORITHMS[algorithm](at), trials)[-1])


def _piece(
    ablation: str,
    change: str,
    pair: tuple[str, str],
    seeds: Sequence[int],
    trials: int,
    without: str,
    with_it: str,
    paper: str,
    expected: Expected,
) -> Piece:
    where = f"{pair[0]} on {pair[1]}, {trials} trials"

    def make() -> list[Comparison]:
        before, after = (tuple(speedup(*pair, seed, name, trials) for seed in seeds) for name in (without, with_it))
        return [Comparison(ablation, change, where, METRIC, True, before, after, True, paper, expected)]

    seconds = len(seeds) * trials / 24 * (SECONDS[without] + SECONDS[with_it])
    return Piece(f"{change}: {where} (simulated)", seconds, make)
