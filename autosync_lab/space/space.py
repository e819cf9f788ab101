"""`StrategySpace`: every strategy that is valid for a model on a cluster, pruned by constraints."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.batch import MOST_CREDIT, MOST_SHARDS, StrategyBatch
from autosync_lab.space.constraints import Constraint, LoadBalance, LoadBalanceSoftmax, constraint
from autosync_lab.space.domain import Domain, whole_domain
from autosync_lab.space.lock import Lock
from autosync_lab.space.membership import contains
from autosync_lab.space.narrowing import narrowed
from autosync_lab.space.report import SpaceReport, report
from autosync_lab.space.sampler import draw
from autosync_lab.space.uniform import draw_uniform
from autosync_lab.space.variation import mixed
from autosync_lab.strategy.spec import Strategy

MAX_SHARDS = 40
"""Shards of one variable: the most in AutoSync's space."""

PUSH_CREDITS = (0, 4)
"""Push credits in the space: no limit, and BytePS's few."""

HOPELESS = 200
"""Draws for each strategy that is wanted, after which constraints without a sampler are said to leave too little."""

REGROUPED = 0.25
"""Chance that a mutation draws all groups anew."""


class StrategySpace:
    """Every strategy that is valid for a model on a cluster; immutable: `constrain` and `lock` return new spaces.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    lossy : bool
        Compressors that lose bits are in the space.
    asynchronous : bool
        Asynchronous strategies are in the space.
    max_shards : int
        Most shards of one variable.
    push_credits : sequence of int
        Push credits in the space.

    Raises
    ------
    InvalidInput
        If a bound breaks a rule.
    """

    def __init__(
        self,
        model: ModelSpec,
        cluster: ClusterSpec,
        *,
        lossy: bool = False,
        asynchronous: bool = False,
        max_shards: int = MAX_SHARDS,
        push_credits: Sequence[int] = PUSH_CREDITS,
    ) -> None:
        if not isinstance(model, ModelSpec) or not isinstance(cluster, ClusterSpec):
            raise InvalidInput("a space has a ModelSpec and a ClusterSpec (see load_model, load_cluster)")
        _whole("max_shards", max_shards, 1, MOST_SHARDS)
        for credit in push_credits:
            _whole("push_credits", credit, 0, MOST_CREDIT)
        if not push_credits:
            raise InvalidInput("at least one push credit is left", where="push_credits")
        self.model = model
        self.cluster = cluster
        self.lossy = lossy
        self.asynchronous = asynchronous
        self.locks: tuple[Lock, ...] = ()
        self.constraints: tuple[Constraint, ...] = ()
        self._valid = whole_domain(
            model,
            cluster,
            lossy=lossy,
            asynchronous=asynchronous,
            max_shards=max_shards,
            push_credits=tuple(dict.fromkeys(push_credits)),
        )

    def constrain(self, constraints: "str | Constraint | Iterable[str | Constraint]") -> Self:
        """The space that some more constraints leave.

        Parameters
        ----------
        constraints : str, Constraint, or several
            Names (see `autosync_lab.space.CONSTRAINTS`) or constraints of your own.

        Raises
        ------
        InvalidInput
            If a name is unknown, a constraint is there already, or nothing is left for a variable.
        """
        wanted = [constraints] if isinstance(constraints, str | Constraint) else list(constraints)
        added: list[Constraint] = []
        for one in map(constraint, wanted):
            if one.name in [c.name for c in (*self.constraints, *added)]:
                raise InvalidInput("this constraint is there already", received=one.name)
            added.append(one.bound(self.model, self.cluster, self._unlocked))
        names = [c.name for c in (*self.constraints, *added)]
        if LoadBalance.name in names and LoadBalanceSoftmax.name in names:
            raise InvalidInput(
                "there is one load balancer", received=names, valid=[LoadBalance.name, LoadBalanceSoftmax.name]
            )
        return self._with(constraints=(*self.constraints, *added))

    def without(self, *names: str) -> Self:
        """The space without some of its constraints.

        Raises
        ------
        InvalidInput
            If a name is not that of a constraint of this space.
        """
        known = [c.name for c in self.constraints]
        for name in names:
            if name not in known:
                raise InvalidInput("this space has no such constraint", received=name, valid=known)
        return self._with(constraints=tuple(c for c in self.constraints if c.name not in names))

    def lock(self, variable: str, **choices: Any) -> Self:
        """The space in which a variable's choices are given.

        Parameters
        ----------
        variable : str
            Its name.
        **choices
            Any of `axis`, `shards`, `synchronizer` ("ps" or "ar"), `destination` (a node's name), `local_replication`,
            `compressor`, `sparse_as` ("gather" or "dense"). A lock of the variable that is there already is replaced.

        Raises
        ------
        InvalidInput
            Naming the choice that is not in the space, and the valid ones.
        """
        lock = Lock(variable, choices)
        others = tuple(x for x in self.locks if x.variable != variable)
        return self._with(locks=(*others, lock))

    def unlock(self, variable: str) -> Self:
        """The space in which a variable is no longer locked."""
        return self._with(locks=tuple(x for x in self.locks if x.variable != variable))

    @cached_property
    def domain(self) -> Domain:
        """What locks and constraints leave; constraints without a sampler of their own leave it as it is."""
        domain = self._unlocked
        for rule in self.constraints:
            domain = narrowed(domain, rule, self.model)
        return domain

    @cached_property
    def log10_size(self) -> float:
        """Decimal logarithm of the number of strategies; estimated where `report` says so."""
        return self.report().log10_size

    def report(self) -> SpaceReport:
        """One row per constraint: log10 of the size before and after, exact or estimated with its interval."""
        return self._report

    @cached_property
    def _report(self) -> SpaceReport:
        return report(self.model, self.cluster, self._valid, self._unlocked, self.constraints)

    def sample(self, n: int, seed: int = 0) -> StrategyBatch:
        """Random strategies of many styles, as `autosync_lab.space.sampler` says; of its draws, those that keep all
        constraints.

        Parameters
        ----------
        n : int
        seed : int
            Same seed, same strategies, in every process.

        Returns
        -------
        StrategyBatch

        Raises
        ------
        InvalidInput
            If the constraints that have no sampler of their own reject nearly every draw.
        """
        _whole("n", n, 0)
        _whole("seed", seed, 0)
        return self._kept(
            n, lambda count, attempt: draw(self.model, self.cluster, self.domain, count, _seed(seed, attempt))
        )

    def sample_uniform(self, n: int, seed: int = 0) -> StrategyBatch:
        """Random strategies, every one of the space equally likely: nearly all have very many shards.

        Arguments and errors as of `sample`.
        """
        _whole("n", n, 0)
        _whole("seed", seed, 0)

        def attempt(count: int, attempt: int) -> StrategyBatch:
            rng = np.random.default_rng(_seed(seed, attempt))
            return draw_uniform(self.model, self.cluster, self.domain, count, rng)

        return self._kept(n, attempt)

    def check(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        """Which candidates are in the space, bool [n]."""
        right = contains(self._unlocked, batch)
        for rule in self.constraints:
            right &= rule.holds_all(batch)
        return right

    def violations(self, strategy: Strategy) -> tuple[str, ...]:
        """Why a strategy is not in the space: names of the constraints that it breaks, "space" for what they do not
        cover (locks, shards, semantics); empty if it is in.

        Raises
        ------
        InvalidStrategy
            If the strategy is not valid for the model on the cluster.
        """
        batch = StrategyBatch.encode([strategy], self.model, self.cluster)
        broken = [] if contains(self._unlocked, batch)[0] else ["space"]
        return (*broken, *(rule.name for rule in self.constraints if not rule.holds_all(batch)[0]))

    def mutate(self, batch: StrategyBatch, seed: int, rate: float = 0.1) -> StrategyBatch:
        """Each candidate with some variables drawn anew: those that `rate` picks, one at least.

        Candidates whose mutant would break a constraint stay as they are.
        """
        rng = np.random.default_rng(seed)
        n, variables = len(batch), len(self.model.variables)
        anew = rng.random((n, variables)) < rate
        anew[np.arange(n), rng.integers(variables, size=n)] = True
        fresh = draw(self.model, self.cluster, self.domain, n, int(rng.integers(2**62)))
        settings = rng.random(n) < rate
        regrouped = rng.random(n) < REGROUPED
        mutants = mixed(batch, fresh, anew, settings, regrouped, self.domain, int(rng.integers(2**62)))
        return self._right_or(mutants, batch)

    def crossover(self, first: StrategyBatch, second: StrategyBatch, seed: int) -> StrategyBatch:
        """Candidate by candidate, each variable of one of two parents, both equally likely.

        Where the child would break a constraint it is the first parent.
        """
        rng = np.random.default_rng(seed)
        swap = rng.random((len(first), len(self.model.variables))) < 0.5
        settings = rng.random(len(first)) < 0.5
        never = np.zeros(len(first), np.bool_)
        children = mixed(first, second, swap, settings, never, self.domain, int(rng.integers(2**62)))
        return self._right_or(children, first)

    def _right_or(self, batch: StrategyBatch, fallback: StrategyBatch) -> StrategyBatch:
        right = self.check(batch)
        if right.all():
            return batch
        both = StrategyBatch.concatenate([batch, fallback])
        return both[np.where(right, 0, len(batch)) + np.arange(len(batch))]

    def _kept(self, n: int, attempt: Any) -> StrategyBatch:
        """`n` of what `attempt(count, number)` draws that keep the constraints which the domain does not express."""
        judges = [rule for rule in self.constraints if not rule.exact]
        batch: StrategyBatch = attempt(n, 0)
        if not judges or n == 0:
            return batch
        kept, found, drawn, number = [], 0, 0, 0
        while True:
            right = np.ones(len(batch), np.bool_)
            for rule in judges:
                right &= rule.holds_all(batch)
            kept.append(batch[right])
            found += int(right.sum())
            drawn += len(batch)
            if found >= n:
                return StrategyBatch.concatenate(kept)[:n]
            if drawn > HOPELESS * max(n, 50) and found < drawn / HOPELESS:
                names = ", ".join(rule.name for rule in judges)
                raise InvalidInput(
                    f"of {drawn} strategies drawn, {found} keep {names}; give the constraint a `narrow`, or drop it"
                )
            number += 1
            batch = attempt(max(n, 50), number)

    @cached_property
    def _unlocked(self) -> Domain:
        domain = self._valid
        for lock in self.locks:
            domain = lock.narrow(domain, self.model, self.cluster)
        return domain

    def _with(self, **changes: Any) -> Self:
        space = object.__new__(type(self))
        space.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _CACHED} | changes)
        space.constraints = tuple(c.bound(self.model, self.cluster, space._unlocked) for c in space.constraints)
        # What leaves no choice is said now; and a load balancer places on the nodes that other constraints leave.
        left = space.domain
        space.constraints = tuple(c.bound(self.model, self.cluster, left) for c in space.constraints)
        return space

    def __repr__(self) -> str:
        names = ", ".join(c.name for c in self.constraints) or "no constraint"
        return f"StrategySpace({self.model.name!r}, {self.cluster.name!r}, {names}, {len(self.locks)} locked)"


_CACHED = ("domain", "log10_size", "_report", "_unlocked")


def _whole(where: str, value: Any, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInput(f"a whole number of {least} or more", where=where, received=value)
    if most is not None and value > most:
        raise InvalidInput(f"a whole number of {most} at most", where=where, received=value)


def _seed(seed: int, attempt: int) -> int:
    return seed if attempt == 0 else int(np.random.SeedSequence([seed, attempt]).generate_state(1, np.uint64)[0] >> 1)
