"""Mutants and children are in the space, and made of what their parents are."""

from typing import Any

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategyBatch, StrategySpace
from autosync_lab.strategy import AllReduce, Strategy, validate_strategy

CLUSTER = load_cluster("emulated-servers")
SPACES: dict[str, tuple[str, ...]] = {
    "bare": (),
    "default": DEFAULT_CONSTRAINTS,
    "softmax": ("load-balance-softmax", "same-synchronizer-per-variable"),
    "adjacent": ("adjacent-merge",),
}


def _space(name: str, model: str = "lm-small") -> StrategySpace:
    space = StrategySpace(load_model(model), CLUSTER, lossy=True, asynchronous=True, max_shards=6)
    return space.constrain(SPACES[name])


def _plain(strategy: Strategy, v: int) -> Any:
    """A variable's entry but for its groups."""
    return [(s.compressor, s.sparse_as) if isinstance(s, AllReduce) else s for s in strategy.variables[v].shards]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("model", ["lm-small", "ncf-small"])
def test_mutants_and_children_are_valid_and_in_the_space(name: str, model: str) -> None:
    space = _space(name, model)
    first, second = space.sample(40, 1), space.sample(40, 2) if name == "softmax" else space.sample_uniform(40, 2)
    for seed in range(3):
        for batch in (space.mutate(first, seed, 0.4), space.crossover(first, second, seed)):
            assert len(batch) == 40
            assert space.check(batch).all()
            for strategy in batch[:8]:
                validate_strategy(strategy, space.model, space.cluster)
            # Groups are canonical: equal strategies have equal arrays.
            assert np.array_equal(StrategyBatch.encode(list(batch), space.model, CLUSTER).hashes, batch.hashes)
        first = space.mutate(first, seed, 0.4)


def test_mutation_changes_about_what_its_rate_says() -> None:
    space = _space("bare")
    batch = space.sample(300, 1)
    for rate, low, high in ((0.0, 0.0, 1.0), (0.5, 0.3, 0.6), (1.0, 0.6, 1.0)):
        mutants = space.mutate(batch, 7, rate)
        changed = np.asarray(
            [
                [
                    _plain(a, v) != _plain(b, v) or a.variables[v].axis != b.variables[v].axis
                    for v in range(_count(space))
                ]
                for a, b in zip(batch, mutants, strict=True)
            ]
        )
        assert low <= changed.mean() <= high
        if rate == 0.0:
            assert changed.sum(axis=1).max() == 1


def test_a_locked_variable_stays_as_it_is() -> None:
    name = load_model("lm-small").variables[1].name
    space = _space("bare").lock(name, destination=CLUSTER.nodes[-1].name, shards=1)
    first, second = space.sample(30, 1), space.sample(30, 2)
    for batch in (space.mutate(first, 1, 0.9), space.crossover(first, second, 1)):
        assert {s.variables[1].shards[0].destination for s in batch} == {CLUSTER.nodes[-1].name}  # type: ignore[union-attr]


def test_children_take_every_variable_from_one_of_their_parents() -> None:
    space = _space("bare")
    first, second = space.sample(30, 1), space.sample(30, 2)
    from_first = from_second = 0
    for a, b, child in zip(first, second, space.crossover(first, second, 5), strict=True):
        assert (child.synchronous, child.staleness, child.push_credit) in [
            (p.synchronous, p.staleness, p.push_credit) for p in (a, b)
        ]
        for v in range(_count(space)):
            assert _plain(child, v) in (_plain(a, v), _plain(b, v))
            from_first += _plain(child, v) == _plain(a, v)
            from_second += _plain(child, v) == _plain(b, v)
    assert 0.4 < from_first / (30 * _count(space)) < 0.75
    assert 0.4 < from_second / (30 * _count(space)) < 0.75


@pytest.mark.parametrize("name", ["bare", "default"])
def test_a_child_of_twins_is_their_twin_but_for_groups(name: str) -> None:
    space = _space(name)
    batch = space.sample(30, 1)
    for parent, child in zip(batch, space.crossover(batch, batch, 5), strict=True):
        assert [v.axis for v in parent.variables] == [v.axis for v in child.variables]
        assert all(_plain(parent, v) == _plain(child, v) for v in range(_count(space)))


def test_variation_is_reproducible() -> None:
    space = _space("default")
    first, second = space.sample(20, 1), space.sample(20, 2)
    for vary in (lambda seed: space.mutate(first, seed), lambda seed: space.crossover(first, second, seed)):
        assert np.array_equal(vary(1).hashes, vary(1).hashes)
        assert not np.array_equal(vary(1).hashes, vary(2).hashes)


def _count(space: StrategySpace) -> int:
    return len(space.model.variables)
