"""`adjacent-merge`: groups are contiguous in ready order, and of about equal bytes."""

from collections import defaultdict

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import ModelSpec, load_model
from autosync_lab.space import StrategyBatch, StrategySpace
from autosync_lab.strategy import AllReduce, Strategy
from tests.space.brute_force import kind_of

CLUSTER = load_cluster("emulated-servers")


def _by_kind(strategy: Strategy, model: ModelSpec) -> dict[str, list[tuple[int | None, float]]]:
    """Group and bytes of each all-reduced shard, by kind, in the order in which gradients are ready."""
    order = sorted(range(len(model.variables)), key=lambda v: (model.variables[v].ready, -v))
    kinds: dict[str, list[tuple[int | None, float]]] = defaultdict(list)
    for v in order:
        entry = strategy.variables[v]
        for shard in entry.shards:
            if isinstance(shard, AllReduce):
                kind = kind_of(model.variables[v], shard)
                assert kind is not None
                kinds[kind].append((shard.group, model.variables[v].nbytes / len(entry.shards)))
    return kinds


def _contiguous(groups: list[int | None]) -> bool:
    starts = [g for i, g in enumerate(groups) if i == 0 or g != groups[i - 1]]
    return None not in groups and len(starts) == len(set(starts))


@pytest.mark.parametrize("name", ["lm-small", "bert-tiny"])
@pytest.mark.parametrize("lossy", [False, True])
def test_groups_are_contiguous_in_ready_order(name: str, lossy: bool) -> None:
    model = load_model(name)
    space = StrategySpace(model, CLUSTER, lossy=lossy).constrain("adjacent-merge")
    first, second = space.sample(40, 1), space.sample_uniform(8, 1)
    for batch in (first, second, space.mutate(first, 1), space.crossover(first, space.sample(40, 2), 1)):
        assert space.check(batch).all()
        for strategy in batch:
            for shards in _by_kind(strategy, model).values():
                assert _contiguous([group for group, _ in shards])


@pytest.mark.parametrize("name", ["lm-small", "resnet-mini"])
def test_sampled_groups_are_about_equal(name: str) -> None:
    model = load_model(name)
    numbers = set()
    for strategy in StrategySpace(model, CLUSTER, lossy=True).constrain("adjacent-merge").sample(80, 3):
        for shards in _by_kind(strategy, model).values():
            nbytes: dict[int | None, float] = defaultdict(float)
            for group, size in shards:
                nbytes[group] += size
            numbers.add(len(nbytes))
            most = sum(nbytes.values()) / len(nbytes) + max(size for _, size in shards)
            assert max(nbytes.values()) <= most * (1 + 1e-9)
    assert {1, 2, 3} <= numbers


def test_it_holds_exactly_for_contiguous_groups() -> None:
    model = load_model("ncf-small")
    space = StrategySpace(model, CLUSTER, lossy=True, max_shards=3)
    rule = space.constrain("adjacent-merge").constraints[0]
    batch = StrategyBatch.concatenate([space.sample(300, 1), space.sample_uniform(50, 1)])
    expected = [
        all(_contiguous([group for group, _ in shards]) for shards in _by_kind(s, model).values()) for s in batch
    ]
    assert 0 < np.sum(expected) < len(batch)
    assert rule.holds_all(batch).tolist() == expected
