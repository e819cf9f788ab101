"""`genetic`: children of the fastest strategies so far."""

from autosync_lab.search.base import SearchAlgorithm
from autosync_lab.space.batch import StrategyBatch

POPULATION = 16
"""Strategies to start with, drawn at random, and of the fastest of which children are made."""

TOURNAMENT = 3
"""Of this many strategies drawn at random the fastest becomes a parent."""

MUTATED = 0.1
"""Chance of each variable of a child to be drawn anew."""


class Genetic(SearchAlgorithm):
    """A steady-state genetic algorithm: tournament selection among the fastest, uniform crossover, mutation.

    Source: Goldberg and Deb, "A comparative analysis of selection schemes used in genetic algorithms", FOGA 1991.
    """

    name = "genetic"

    def propose(self, n: int) -> StrategyBatch:
        parents = self.elite(POPULATION)
        if parents is None or len(parents) < 2 or len(self._times) < POPULATION:
            return self.space.sample(n, self.next_seed())
        # The elite comes fastest first, so the smallest index wins.
        first, second = self.rng.integers(len(parents), size=(2, TOURNAMENT, n)).min(axis=1)
        children = self.space.crossover(parents[first], parents[second], self.next_seed())
        return self.space.mutate(children, self.next_seed(), MUTATED)
