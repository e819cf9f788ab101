"""The seam `Constraint`."""

import copy
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.domain import Domain
from autosync_lab.strategy.spec import Strategy


class Constraint(ABC):
    """A rule from domain knowledge that prunes a strategy space.

    To write one: a subclass with `name`, `reason` and `holds`. That is enough: strategies that break it are drawn
    again. Where nearly all would, `narrow` makes them right from the start, and `holds_all` looks at a whole batch at
    once.
    A space binds a constraint before it asks anything: `self.model`, `self.cluster` and `self.domain` are there in all
    three methods. The domain is what is valid and not locked in `narrow`, and what the space leaves in the others.

    Example
    -------
    >>> class NoServerOnTheChief(Constraint):
    ...     name = "no-server-on-the-chief"
    ...     reason = "The chief also evaluates the model."
    ...     def holds(self, strategy):
    ...         chief = next(n.name for n in self.cluster.nodes if n.chief)
    ...         return all(getattr(s, "destination", "") != chief for v in strategy.variables for s in v.shards)
    """

    name: str
    """How people ask for it."""
    reason: str
    """Why, in one sentence."""
    exact: bool = False
    """True if what `narrow` leaves are exactly the strategies that keep the rule; else `holds_all` checks draws."""
    model: ModelSpec
    cluster: ClusterSpec
    domain: Domain

    @abstractmethod
    def holds(self, strategy: Strategy) -> bool:
        """True if the strategy keeps the rule."""

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        """`holds` of every candidate, bool [n]."""
        return np.asarray([bool(self.holds(strategy)) for strategy in batch], np.bool_)

    def narrow(self, domain: Domain) -> Domain:
        """The choices that the rule leaves: no strategy that keeps it may be lost."""
        return domain

    def bound(self, model: ModelSpec, cluster: ClusterSpec, domain: Domain) -> Self:
        """A copy for one space."""
        bound = copy.copy(self)
        bound.model, bound.cluster, bound.domain = model, cluster, domain
        return bound

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def every(batch: StrategyBatch, right: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Candidates all of whose shards are right: `right` is bool [S], the result bool [n]."""
    wrong = np.bincount(batch.candidate[~right], minlength=len(batch))
    return np.asarray(wrong == 0)
