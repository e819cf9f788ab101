"""Search algorithms: they propose strategies and learn from trials. One file each."""

from collections.abc import Callable

from autosync_lab.errors import InvalidInput
from autosync_lab.search.autosync import AutoSync as AutoSync
from autosync_lab.search.base import Observation as Observation
from autosync_lab.search.base import SearchAlgorithm as SearchAlgorithm
from autosync_lab.search.genetic import Genetic as Genetic
from autosync_lab.search.random_search import RandomSearch as RandomSearch
from autosync_lab.simulator.base import Simulator
from autosync_lab.space.space import StrategySpace

ALGORITHMS: dict[str, Callable[[StrategySpace, int, Simulator | None], SearchAlgorithm]] = {
    "random": lambda space, seed, _: RandomSearch(space, seed),
    "genetic": lambda space, seed, _: Genetic(space, seed),
    "autosync": AutoSync,
}


def make_algorithm(name: str, space: StrategySpace, seed: int, simulator: Simulator | None = None) -> SearchAlgorithm:
    """The algorithm called `name`, at its start.

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if name not in ALGORITHMS:
        raise InvalidInput("unknown search algorithm", received=name, valid=ALGORITHMS)
    return ALGORITHMS[name](space, seed, simulator)
