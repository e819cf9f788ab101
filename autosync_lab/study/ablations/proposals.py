"""Where proposals come from: bred from the best candidates, or drawn from the space; scored by a simulator, or not.

Searches of `trials` trials on played clusters, one for each seed; simulated.
"""

from collections.abc import Callable, Sequence

from autosync_lab.cluster.preset import load_cluster
from autosync_lab.model.catalog import load_model
from autosync_lab.search import AutoSync, Genetic, RandomSearch
from autosync_lab.search.base import SearchAlgorithm
from autosync_lab.simulator.corrected import CorrectedCostModel
from autosync_lab.study.ablations.comparison import Comparison, Expected
from autosync_lab.study.ablations.virtual_search import VirtualCluster, speedups

METRIC = "speedup over the best of parameter servers and Horovod"

PAIRS_OF_SIMULATOR = (("ncf-dense", "cluster-a"), ("vgg16", "cluster-a"), ("bert-3l", "cluster-b"))
PAIRS_OF_PROPOSALS = (("vgg16", "cluster-a"),)

Tell = Callable[[str], None]


def add_simulator(seeds: Sequence[int], trials: int, tell: Tell) -> list[Comparison]:
    """A simulator scores the proposals, instead of diverse draws alone (the paper's AutoSync(-s))."""
    return [
        _compared(
            "simulator",
            "score proposals with the corrected cost model",
            pair,
            seeds,
            trials,
            lambda at: AutoSync(at.space(), at.seed, None),
            lambda at: AutoSync(at.space(), at.seed, CorrectedCostModel(at.belief)),
            "up to 1.4x without, 1.2x to 1.6x with its simulator (NCF-dense, VGG16, BERT-large)",
            "better",
            tell,
        )
        for pair in PAIRS_OF_SIMULATOR
    ]


def breed_proposals(seeds: Sequence[int], trials: int, tell: Tell) -> list[Comparison]:
    """Genetic proposals instead of random ones: with a simulator that scores them, and as whole algorithms."""
    found = []
    for pair in PAIRS_OF_PROPOSALS:
        found.append(
            _compared(
                "proposals",
                "genetic instead of random proposals, scored by a simulator",
                pair,
                seeds,
                trials,
                lambda at: AutoSync(at.space(), at.seed, CorrectedCostModel(at.belief), generations=0),
                lambda at: AutoSync(at.space(), at.seed, CorrectedCostModel(at.belief)),
                "VGG16, A: best step 0.60 s with random, 0.64 s with genetic proposals",
                "worse",
                tell,
            )
        )
        found.append(
            _compared(
                "proposals",
                "genetic instead of random proposals, without a simulator",
                pair,
                seeds,
                trials,
                lambda at: RandomSearch(at.space(), at.seed),
                lambda at: Genetic(at.space(), at.seed),
                "VGG16, A: best step 0.60 s with random, 0.64 s with genetic proposals",
                "worse",
                tell,
            )
        )
    return found


def _compared(
    ablation: str,
    change: str,
    pair: tuple[str, str],
    seeds: Sequence[int],
    trials: int,
    without: Callable[[VirtualCluster], SearchAlgorithm],
    with_it: Callable[[VirtualCluster], SearchAlgorithm],
    paper: str,
    expected: Expected,
    tell: Tell,
) -> Comparison:
    model, cluster = load_model(pair[0]), load_cluster(pair[1])
    where = f"{pair[0]} on {pair[1]}, {trials} trials"
    tell(f"{change}: {where}")
    places = [VirtualCluster(model, cluster, seed) for seed in seeds]
    return Comparison(
        ablation,
        change,
        where,
        METRIC,
        True,
        speedups(places, without, trials),
        speedups(places, with_it, trials),
        True,
        paper,
        expected,
    )
