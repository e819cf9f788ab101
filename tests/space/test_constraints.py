"""Every constraint keeps the contract of `Constraint`; a new one is a row."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.space import (
    CONSTRAINTS,
    DEFAULT_CONSTRAINTS,
    Constraint,
    Domain,
    PartitionBounds,
    StrategyBatch,
    StrategySpace,
)
from autosync_lab.strategy import ParameterServer, Strategy
from tests.space.cases import BIAS, CASES, KERNEL, LOOKED_UP, ONE_NODE, PAIR, TABLE, TWO_ON_A_NODE, Case
from tests.strategies import random_strategy


class FewServers(Constraint):
    """What a user would write: at most half of the shards are on servers."""

    name = "few-servers"
    reason = "Somebody has his doubts about servers."

    def holds(self, strategy: Strategy) -> bool:
        shards = [s for v in strategy.variables for s in v.shards]
        return 2 * sum(isinstance(s, ParameterServer) for s in shards) <= len(shards)


class NotOnTheFirst(Constraint):
    """A user's constraint that narrows: no server on the first node."""

    name = "not-on-the-first"
    reason = "It has other things to do."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        first = self.cluster.nodes[0].name
        return all(getattr(s, "destination", None) != first for v in strategy.variables for s in v.shards)

    def narrow(self, domain: Domain) -> Domain:
        return domain.each(self.model, lambda _, d: replace(d, destinations=tuple(i for i in d.destinations if i != 0)))


class Never(Constraint):
    """A hopeless one."""

    name = "never"
    reason = "For tests."

    def holds(self, strategy: Strategy) -> bool:
        return False

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        return np.zeros(len(batch), np.bool_)


ROWS: dict[str, Callable[[], Constraint]] = {
    **CONSTRAINTS,
    "small bounds": lambda: PartitionBounds(min_bytes=8, max_shards=3),
    "must cut": lambda: PartitionBounds(min_bytes=8, always_above=64),
    "user-written": FewServers,
    "user-written, narrowing": NotOnTheFirst,
}

MODEL = ModelSpec(
    "m",
    (
        Variable("embeddings", (6, 4), ready=1.0),
        Variable("kernel", (8, 3), ready=0.7),
        Variable("table", (12, 2), sparse=True, touched_rows=3.0, ready=0.9),
        Variable("bias", (4,), ready=0.6),
    ),
    4,
)
CLUSTERS = {
    "pair": PAIR,
    "two on a node": TWO_ON_A_NODE,
    "with a server": ClusterSpec("s", (Node("a", 1, 1, 1), Node("b", 2, 2, 2), Node("server", 0, 9, 9))),
}


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("row", ROWS)
class TestContract:
    def _space(self, row: str, cluster: str) -> StrategySpace:
        space = StrategySpace(MODEL, CLUSTERS[cluster], lossy=True, max_shards=5)
        return space.constrain(ROWS[row]())

    def test_it_says_its_name_and_why(self, row: str, cluster: str) -> None:
        rule = ROWS[row]()
        assert rule.name == rule.name.lower().replace(" ", "-")
        assert rule.reason.endswith(".")
        assert row not in CONSTRAINTS or rule.name == row
        assert type(rule).__name__ in repr(rule)

    def test_draws_keep_it(self, row: str, cluster: str) -> None:
        space = self._space(row, cluster)
        for batch in (space.sample(40, 1), space.sample_uniform(20, 1)):
            assert space.check(batch).all()
            assert all(space.constraints[0].holds(s) for s in batch)

    def test_one_by_one_and_all_at_once_agree(self, row: str, cluster: str) -> None:
        rule = self._space(row, cluster).constraints[0]
        bare = StrategySpace(MODEL, CLUSTERS[cluster], lossy=True, max_shards=5)
        rng = np.random.default_rng(1)
        some = StrategyBatch.encode(
            [random_strategy(MODEL, CLUSTERS[cluster], rng, lossy=True) for _ in range(30)], MODEL, CLUSTERS[cluster]
        )
        for batch in (bare.sample(60, 3), bare.sample_uniform(20, 3), some):
            at_once = rule.holds_all(batch)
            assert at_once.dtype == np.bool_
            assert at_once.tolist() == [rule.holds(s) for s in batch]
        assert rule.holds_all(some[:0]).shape == (0,)

    def test_it_loses_no_strategy_that_keeps_it_and_is_exact_if_it_says_so(self, row: str, cluster: str) -> None:
        space = self._space(row, cluster)
        rule = space.constraints[0]
        bare = StrategySpace(MODEL, CLUSTERS[cluster], lossy=True, max_shards=5)
        assert rule.narrow(space.domain) == space.domain
        report = space.report()
        assert report.size.exact == rule.exact
        assert report.size.high <= bare.log10_size + 1e-9
        assert len(report) == 1

    def test_a_space_binds_a_copy(self, row: str, cluster: str) -> None:
        rule = ROWS[row]()
        space = StrategySpace(MODEL, CLUSTERS[cluster]).constrain(rule)
        assert not hasattr(rule, "model")
        assert space.constraints[0].model is MODEL
        assert space.constraints[0].cluster is CLUSTERS[cluster]


def test_check_is_the_constraints_one_by_one() -> None:
    cluster = load_cluster("emulated-servers")
    space = StrategySpace(MODEL, cluster, max_shards=5)
    added = [PartitionBounds(min_bytes=8) if n == "partition-bounds" else n for n in DEFAULT_CONSTRAINTS]
    pruned = space.constrain(added)
    batch = StrategyBatch.concatenate([space.sample(200, 1), pruned.mutate(pruned.sample(50, 2), 1)])
    checked = pruned.check(batch)
    assert 50 <= checked.sum() < len(batch)
    for strategy, right in zip(batch, checked, strict=True):
        broken = pruned.violations(strategy)
        assert right == (not broken)
        assert set(broken) == {c.name for c in pruned.constraints if not c.holds(strategy)}


def test_what_is_outside_of_a_space_is_said() -> None:
    wide = StrategySpace(MODEL, PAIR, asynchronous=True, lossy=True, push_credits=(0, 7))
    narrow = StrategySpace(MODEL, PAIR, max_shards=2).lock("kernel", destination="b")
    assert ("space",) in {narrow.violations(s) for s in wide.sample(40)}
    assert narrow.check(narrow.sample(40)).all()
    for batch in (wide.sample(60), wide.sample_uniform(60)):
        assert narrow.check(batch).tolist() == [narrow.violations(s) == () for s in batch]


def test_a_users_constraint_is_counted_by_an_estimate_that_covers_the_truth() -> None:
    for name in ("sparse beside dense", "two replicas on a node", "lossy"):
        case = CASES[name]
        space = case.space.constrain(FewServers())
        truth = np.log10(sum(space.constraints[0].holds(s) for s in case.everything))
        size = space.report().size
        assert not size.exact
        assert size.low <= truth <= size.high
        assert size.low < size.value < size.high
        assert "about" in str(size)


def test_a_hopeless_constraint_is_said_to_be_so() -> None:
    space = Case((BIAS, KERNEL), PAIR).space.constrain(Never())
    for draw in (space.sample, space.sample_uniform):
        with pytest.raises(
            InvalidInput, match=r"of \d+ strategies drawn, 0 keep never; give the constraint a `narrow`"
        ):
            draw(2)
    size = space.report().size
    assert np.isnan(size.value)
    assert size.low == -np.inf
    assert "below" in str(size)


def test_a_load_balancer_places_on_the_nodes_that_other_constraints_leave() -> None:
    cluster = ClusterSpec("three", (Node("a"), Node("b"), Node("c")))
    for added in ((NotOnTheFirst(), "load-balance"), ("load-balance", NotOnTheFirst())):
        space = StrategySpace(MODEL, cluster, max_shards=3).constrain(added)
        batch = space.sample(30)
        assert space.check(batch).all()
        assert set(batch.destination.tolist()) == {-1, 1, 2}
        assert all(space.violations(s) == () for s in batch)
        tiny = CASES["a node without replicas"]
        pruned = tiny.space.constrain(added)
        kept = sum(all(rule.holds(s) for rule in pruned.constraints) for s in tiny.everything)
        assert pruned.log10_size == pytest.approx(np.log10(kept), abs=1e-9)


CONFLICTS: dict[str, tuple[StrategySpace, str, dict[str, Any], str]] = {
    "rows on servers only": (Case((TABLE, BIAS), PAIR).space, "table", {"synchronizer": "ar"}, "sparse-to-ps"),
    "rows": (Case((TABLE, BIAS), PAIR).space, "table", {"sparse_as": "gather"}, "sparse-to-ps"),
    "a server alone": (Case((BIAS,), ONE_NODE).space, "bias", {"destination": "a"}, "single-node-no-ps"),
    "a table's columns": (Case((LOOKED_UP,), PAIR).space, "embedding", {"axis": 1}, "embedding-axis-0"),
    "crumbs": (Case((KERNEL,), PAIR).space, "kernel", {"shards": 2}, "partition-bounds"),
    "replicas apart": (
        Case((KERNEL,), PAIR).space,
        "kernel",
        {"local_replication": True},
        "no-local-replication-without-co-located-replicas",
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_conflict_names_the_variable_and_the_rule(name: str) -> None:
    space, variable, choices, rule = CONFLICTS[name]
    for build in (
        lambda: space.lock(variable, **choices).constrain(rule),
        lambda: space.constrain(rule).lock(variable, **choices),
    ):
        with pytest.raises(InvalidInput) as raised:
            build()
        assert f"'{variable}'" in str(raised.value)
        assert f"'{rule}'" in str(raised.value)


def test_what_conflicts_is_gone_with_either_of_the_two() -> None:
    space = Case((TABLE, BIAS), PAIR).space
    assert space.constrain("sparse-to-ps").without("sparse-to-ps").lock("table", synchronizer="ar").locks
    assert space.lock("table", synchronizer="ar").unlock("table").constrain("sparse-to-ps").constraints


SLIPS: dict[str, tuple[Callable[[StrategySpace], Any], str]] = {
    "constraint": (lambda s: s.constrain("sparse-to-pss"), "did you mean 'sparse-to-ps'"),
    "no constraint": (lambda s: s.constrain([3]), "unknown constraint"),
    "without": (lambda s: s.constrain("adjacent-merge").without("adjacent-merg"), "did you mean 'adjacent-merge'"),
    "twice": (lambda s: s.constrain(["load-balance", "load-balance"]), "there already"),
    "two balancers": (lambda s: s.constrain(["load-balance", "load-balance-softmax"]), "one load balancer"),
    "variable": (lambda s: s.lock("tabel", shards=1), "did you mean 'table'"),
    "choice": (lambda s: s.lock("table", shard=1), "did you mean 'shards'"),
    "synchronizer": (lambda s: s.lock("table", synchronizer="p"), "did you mean 'ps'"),
    "destination": (lambda s: s.lock("table", destination="bb"), "did you mean 'b'"),
    "compressor": (lambda s: s.lock("table", compressor="fp16"), "not in the space"),
    "shards": (lambda s: s.lock("table", shards=9), "Valid: 1 to 3"),
    "whole number": (lambda s: s.lock("table", shards=True), "not in the space"),
    "axis": (lambda s: s.lock("table", axis=1), "not in the space"),
    "both": (lambda s: s.lock("table", synchronizer="ar", destination="b"), "'table'"),
    "local replication": (lambda s: s.lock("table", local_replication="yes"), "Valid: False, True"),
    "sparse as": (lambda s: s.lock("table", sparse_as="densee"), "did you mean 'dense'"),
    "dense": (lambda s: s.lock("bias", sparse_as="dense"), "Valid: gather"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_said_with_the_valid_choices(name: str) -> None:
    ask, said = SLIPS[name]
    with pytest.raises(InvalidInput, match=said):
        ask(Case((TABLE, BIAS), PAIR).space)


@pytest.mark.parametrize(
    "bounds", [{"min_bytes": 0}, {"max_shards": 0}, {"always_above": -1}, {"max_shards": 2.5}, {"min_bytes": True}]
)
def test_bounds_are_whole_numbers(bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="1 or more"):
        PartitionBounds(**bounds)


@pytest.mark.parametrize(
    "options",
    [
        {"max_shards": 0},
        {"max_shards": True},
        {"max_shards": 40_000},
        {"push_credits": ()},
        {"push_credits": (0, -1)},
        {"push_credits": (2**31,)},
    ],
)
def test_a_space_checks_its_bounds(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        StrategySpace(MODEL, PAIR, **options)


def test_a_space_is_of_a_model_and_a_cluster() -> None:
    with pytest.raises(InvalidInput, match="ModelSpec"):
        StrategySpace("bert-large", PAIR)  # type: ignore[arg-type]


def test_spaces_do_not_change() -> None:
    space = Case((TABLE, BIAS), PAIR).space
    size = space.log10_size
    pruned = space.constrain(DEFAULT_CONSTRAINTS).lock("table", destination="b")
    assert space.constraints == space.locks == ()
    assert space.log10_size == size > pruned.log10_size
    assert pruned.without(*DEFAULT_CONSTRAINTS).unlock("table").log10_size == size
    assert pruned.lock("table", destination="a").log10_size == pruned.log10_size
    assert "'tiny'" in repr(pruned)
    assert "1 locked" in repr(pruned)
