"""Spaces and trials for the tests of search algorithms."""

from collections.abc import Callable, Sequence

import numpy as np

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.search import Observation, SearchAlgorithm, make_algorithm
from autosync_lab.simulator import CostModel, make_simulator
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategyBatch, StrategySpace
from autosync_lab.strategy import Strategy, build_strategy

Maker = Callable[[StrategySpace, int], SearchAlgorithm]


def maker(name: str, simulator: str) -> Maker:
    """How to start an algorithm on a space, with a seed."""
    return lambda space, seed: make_algorithm(name, space, seed, make_simulator(simulator, space.model, space.cluster))


ALGORITHMS: dict[str, Maker] = {
    "random": maker("random", "none"),
    "genetic": maker("genetic", "none"),
    "autosync with the cost model": maker("autosync", "cost-model"),
    "autosync without a simulator": maker("autosync", "none"),
}
"""Every algorithm; a new one is one row, and inherits all tests of the contract."""


def usual_space() -> StrategySpace:
    """A space as people search it: sparse and dense variables, servers, the default constraints."""
    return StrategySpace(load_model("ncf-small"), load_cluster("emulated-servers")).constrain(DEFAULT_CONSTRAINTS)


def tiny_space() -> StrategySpace:
    """A space of a handful of strategies."""
    model = ModelSpec("tiny", (Variable("bias", (2,), ready=0.5),), 4, compute_s=0.01)
    return StrategySpace(model, ClusterSpec("one", (Node("a"),)), max_shards=1, push_credits=(0, 4))


def outside(space: StrategySpace) -> list[Strategy]:
    """Baselines that the space does not hold."""
    found = [build_strategy(name, space.model, space.cluster) for name in ("ps", "all-reduce", "horovod")]
    return [s for s in found if space.violations(s)]


def played(space: StrategySpace, strategies: Sequence[Strategy]) -> list[Observation]:
    """What a made-up cluster measures."""
    if not strategies:
        return []
    times = CostModel(space.model, space.cluster).step_time(
        StrategyBatch.encode(strategies, space.model, space.cluster)
    )
    return [Observation(s, float(t)) for s, t in zip(strategies, times, strict=True)]


def failed(strategies: Sequence[Strategy]) -> list[Observation]:
    """Trials that all failed."""
    return [Observation(s, float("nan")) for s in strategies]


def run(algorithm: SearchAlgorithm, rounds: int, size: int) -> list[str]:
    """Ids of what is proposed in some rounds, of which a few trials fail."""
    ids: list[str] = []
    for _ in range(rounds):
        asked = algorithm.ask(size)
        ids += [s.id for s in asked]
        times = played(algorithm.space, asked)
        algorithm.tell([o if i % 5 else Observation(o.strategy, float("nan")) for i, o in enumerate(times)])
    return ids


def best_of(observations: Sequence[Observation]) -> float:
    """Least step time, seconds."""
    return float(np.nanmin([o.step_time_s for o in observations]))
