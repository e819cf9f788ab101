"""`autosync`: propose thousands, score them, measure a few that are good and diverse, learn, and again.

Source: Zhang et al., "AutoSync: learning to synchronize for data-parallel distributed deep learning", NeurIPS 2020.
Beyond it: the cost model is the prior before any trial, and proposals are bred from the best ones before they are
measured, which costs milliseconds.
"""

from collections.abc import Sequence

import numpy as np

from autosync_lab.search.base import Observation, SearchAlgorithm
from autosync_lab.search.diverse_pick import diverse_pick
from autosync_lab.simulator.base import Simulator
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.space import StrategySpace

PROPOSALS = 2000
"""Candidates that are scored at once; the authors' number."""

GENERATIONS = 6
"""Times that the best candidates are bred and scored before some are picked, unless told otherwise."""

PARENTS, LEAST_PARENTS = 200, 24
"""Best candidates that are refined, and that children are bred from: at most, and at least."""

REFINED_SHARDS = 200_000
"""Shards times nodes that are refined in a generation: a second or two of timelines."""

MUTATED = 0.05
"""Chance of each variable of a child to be drawn anew."""

ELITE = 8
"""Fastest strategies measured that join the parents."""

MOST_SHARDS = 4_000_000
"""A round of proposals has at most about this many shards: large models get fewer proposals, in the same memory."""

SHORTLIST = 8
"""Of the best this many times as many candidates as are picked, those that differ most are picked."""


class AutoSync(SearchAlgorithm):
    """Proposals from the space, scored by a simulator; a good and diverse batch of them is measured.

    Parameters
    ----------
    space : StrategySpace
    seed : int
    simulator : Simulator or None
        None is the paper's AutoSync(-s): diverse draws from the constrained space.
    generations : int
        Times that the best candidates are bred before some are picked; 0 picks among draws only, as the paper does.
    """

    name = "autosync"

    def __init__(
        self, space: StrategySpace, seed: int, simulator: Simulator | None, generations: int = GENERATIONS
    ) -> None:
        super().__init__(space, seed)
        self.simulator = simulator
        self.generations = generations

    def tell(self, observations: Sequence[Observation]) -> None:
        super().tell(observations)
        batch, times = self.measured()
        if self.simulator is not None and batch is not None:
            self.simulator.fit(batch, times)

    def propose(self, n: int) -> StrategyBatch:
        pool = self.new_ones(self.space.sample(self._proposals(), self.next_seed()))
        if self.simulator is None:
            return pool[diverse_pick(pool, np.zeros(len(pool)), n)]
        pool, score = self._bred(pool)
        best = np.argsort(score, kind="stable")[: SHORTLIST * n]
        return pool[best][diverse_pick(pool[best], score[best], n)]

    def _bred(self, pool: StrategyBatch) -> tuple[StrategyBatch, np.ndarray]:
        """The best candidates of some generations, with their refined scores.

        Quick scores and chance say who gets a refined one, and refined scores alone who is bred from: else those would
        win that owe a good quick score to what it overlooks.
        """
        elite = self.elite(ELITE)
        if elite is not None:
            pool = StrategyBatch.concatenate([pool, elite])
        parents = self._parents(pool)
        pool, score = self._worth_a_look(pool, parents)
        for _ in range(self.generations):
            if len(pool) < 2:
                break
            first, second = self.rng.integers(len(pool), size=(2, self._proposals() // 2))
            children = self.space.crossover(pool[first], pool[second], self.next_seed())
            children = self.new_ones(self.space.mutate(children, self.next_seed(), MUTATED))
            children, theirs = self._worth_a_look(children, parents)
            pool, score = StrategyBatch.concatenate([pool, children]), np.concatenate([score, theirs])
            _, once = np.unique(pool.hashes, return_index=True)
            best = once[np.argsort(score[once], kind="stable")][:parents]
            pool, score = pool[best], score[best]
        new = [i for i, key in enumerate(pool.hashes.tolist()) if key not in self._seen]
        return pool[new], score[new]

    def _worth_a_look(self, pool: StrategyBatch, count: int) -> tuple[StrategyBatch, np.ndarray]:
        """`count` candidates with refined scores: half of them the best by their quick ones, half taken by chance."""
        order = np.argsort(self._score(pool), kind="stable")
        best, others = order[: count // 2], order[count // 2 :]
        chosen = np.concatenate([best, self.rng.permutation(others)[: count - len(best)]])
        return pool[chosen], self._refined(pool[chosen])

    def _score(self, batch: StrategyBatch) -> np.ndarray:
        assert self.simulator is not None
        return self._logged(self.simulator.predict(batch))

    def _refined(self, batch: StrategyBatch) -> np.ndarray:
        assert self.simulator is not None
        return self._logged(self.simulator.refine(batch))

    def _logged(self, prediction: np.ndarray) -> np.ndarray:
        assert self.simulator is not None
        return np.log(prediction) if self.simulator.in_seconds else prediction

    def _proposals(self) -> int:
        typical = 8 * len(self.space.model.variables)
        return max(50, min(PROPOSALS, MOST_SHARDS // typical))

    def _parents(self, pool: StrategyBatch) -> int:
        """How many are refined in a generation: fewer of large models on large clusters, in the same time."""
        shards = len(pool.destination) / max(1, len(pool)) * len(self.space.cluster.nodes)
        return int(max(LEAST_PARENTS, min(PARENTS, REFINED_SHARDS // max(1.0, shards))))
