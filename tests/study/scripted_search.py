"""Search algorithms that do as a test says."""

from collections.abc import Sequence

from autosync_lab.search import Observation, RandomSearch, SearchAlgorithm
from autosync_lab.simulator import Simulator
from autosync_lab.space import StrategySpace
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.spec import Strategy


class Recording(RandomSearch):
    """Random search that remembers what it was asked and told."""

    name = "recording"

    def __init__(self, space: StrategySpace, seed: int, simulator: Simulator | None = None) -> None:
        super().__init__(space, seed)
        self.calls: list[int | list[Observation]] = []

    def ask(self, n: int) -> list[Strategy]:
        self.calls.append(n)
        return super().ask(n)

    def tell(self, observations: Sequence[Observation]) -> None:
        self.calls.append(list(observations))
        super().tell(observations)

    @property
    def told(self) -> list[list[Observation]]:
        return [call for call in self.calls if not isinstance(call, int)]


class Repeating(SearchAlgorithm):
    """Proposes the same few strategies again and again, whether they were measured or not."""

    name = "repeating"

    def __init__(self, strategies: Sequence[Strategy], space: StrategySpace, seed: int) -> None:
        super().__init__(space, seed)
        self.strategies = list(strategies)
        self.at = 0

    def ask(self, n: int) -> list[Strategy]:
        first, self.at = self.at, self.at + n
        return [self.strategies[i % len(self.strategies)] for i in range(first, first + n)]

    def propose(self, n: int) -> StrategyBatch:
        raise NotImplementedError
