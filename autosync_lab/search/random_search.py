"""`random`: draws from the space."""

from autosync_lab.search.base import SearchAlgorithm
from autosync_lab.space.batch import StrategyBatch


class RandomSearch(SearchAlgorithm):
    """Strategies drawn from the space, whatever was measured."""

    name = "random"

    def propose(self, n: int) -> StrategyBatch:
        return self.space.sample(n, self.next_seed())
