"""Tiny models and clusters, whose spaces can be enumerated."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from autosync_lab.cluster import ClusterSpec, Node
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.space import StrategyBatch, StrategySpace
from autosync_lab.strategy import Strategy
from tests.space.brute_force import every_strategy

KERNEL = Variable("kernel", (3, 2), ready=0.9)
BIAS = Variable("bias", (2,), ready=0.5)
SCALE = Variable("scale", (), "float16", ready=0.5)
LOOKED_UP = Variable("embedding", (2, 3), ready=1.0)
TABLE = Variable("table", (3, 1), sparse=True, touched_rows=1.5, ready=1.0)

ONE_NODE = ClusterSpec("one", (Node("a"),))
PAIR = ClusterSpec("pair", (Node("a", up_gbps=1, down_gbps=1), Node("b", up_gbps=1, down_gbps=1)))
TWO_ON_A_NODE = ClusterSpec("two-on-a-node", (Node("a", 2, 1, 1), Node("b", 1, 3, 3)))
WITH_SERVER = ClusterSpec("with-server", (Node("a", 1, 1, 1), Node("b", 1, 1, 2), Node("server", 0, 4, 4)))


@dataclass(frozen=True)
class Case:
    """A tiny space by its arguments."""

    variables: tuple[Variable, ...]
    cluster: ClusterSpec
    max_shards: int = 3
    lossy: bool = False
    asynchronous: bool = False
    push_credits: tuple[int, ...] = (0,)

    @property
    def model(self) -> ModelSpec:
        return ModelSpec("tiny", self.variables, 4)

    @property
    def options(self) -> dict[str, Any]:
        return {
            "lossy": self.lossy,
            "asynchronous": self.asynchronous,
            "max_shards": self.max_shards,
            "push_credits": self.push_credits,
        }

    @property
    def space(self) -> StrategySpace:
        return StrategySpace(self.model, self.cluster, **self.options)

    @property
    def everything(self) -> tuple[Strategy, ...]:
        return _everything(self)

    @property
    def encoded(self) -> StrategyBatch:
        return _encoded(self)


@cache
def _everything(case: Case) -> tuple[Strategy, ...]:
    return tuple(every_strategy(case.model, case.cluster, **case.options))


@cache
def _encoded(case: Case) -> StrategyBatch:
    return StrategyBatch.encode(case.everything, case.model, case.cluster)


CASES = {
    "one node, one variable, two settings": Case((BIAS,), ONE_NODE, push_credits=(0, 4)),
    "one node, two variables": Case((BIAS, TABLE), ONE_NODE, max_shards=2),
    "three variables whole and cut": Case((BIAS, SCALE, LOOKED_UP), ONE_NODE, max_shards=2),
    "two axes, up to three shards": Case((KERNEL,), PAIR),
    "sparse rows and dense": Case((TABLE,), PAIR),
    "two replicas on a node": Case((BIAS, SCALE), TWO_ON_A_NODE, max_shards=2, push_credits=(0, 4)),
    "a node without replicas": Case((BIAS, SCALE), WITH_SERVER, max_shards=2),
    "sparse beside dense": Case((BIAS, TABLE), PAIR, max_shards=2),
    "lossy": Case((BIAS, SCALE), ONE_NODE, max_shards=2, lossy=True),
    "lossy and sparse": Case((TABLE, SCALE), ONE_NODE, max_shards=2, lossy=True),
    "asynchronous": Case((BIAS,), PAIR, max_shards=2, asynchronous=True),
    "only whole": Case((SCALE, TABLE, LOOKED_UP), PAIR, max_shards=1),
}


def log10_count(number: int) -> float:
    """log10 of a number of strategies."""
    return math.log10(number) if number else -math.inf
