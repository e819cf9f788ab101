"""The seam `StrategyBuilder`."""

from abc import ABC, abstractmethod

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy, VariableStrategy


class StrategyBuilder(ABC):
    """A rule that makes one strategy for any model on any cluster; stateless, deterministic.

    To add one: a subclass in a file of its own, and a row in `BUILDERS`; the contract tests then cover it.
    """

    name: str
    """How people ask for it."""
    sentence: str
    """What it does, in one sentence."""
    source: str
    """Where it comes from."""
    lossless: bool = True
    """False if gradients lose bits on the wire."""

    @abstractmethod
    def build(self, model: ModelSpec, cluster: ClusterSpec) -> Strategy:
        """The strategy; valid by construction."""


def strategy_of(cluster: ClusterSpec, entries: list[VariableStrategy], push_credit: int = 0) -> Strategy:
    """A synchronous strategy of these entries."""
    return Strategy(tuple(entries), cluster.replicas, push_credit=push_credit)
