"""Encoded strategies: round trips, hashes, parts and joins."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput, InvalidStrategy
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.space import StrategyBatch, StrategySpace
from autosync_lab.strategy import AllReduce, Strategy, VariableStrategy, build_strategy, builder_names, shard_shapes
from tests.space.cases import CASES
from tests.strategies import random_strategy

MODEL = ModelSpec(
    "m",
    (
        Variable("kernel", (40, 30)),
        Variable("scale", ()),
        Variable("table", (500, 8), sparse=True, touched_rows=20.0),
        Variable("half", (6, 6), "float16"),
    ),
    4,
)
CLUSTER = load_cluster("emulated-servers")


def _strategies(seed: int, count: int = 12) -> list[Strategy]:
    rng = np.random.default_rng(seed)
    strategies = [random_strategy(MODEL, CLUSTER, rng, lossy=True) for _ in range(count)]
    bounds = [None, 0, 3, 1000]
    return [
        s.with_settings(synchronous=False, staleness=bounds[i % 4]) if i % 2 else s for i, s in enumerate(strategies)
    ]


def _map_groups(strategy: Strategy, change: Callable[[int], int]) -> Strategy:
    def shard(s: Any) -> Any:
        return replace(s, group=change(s.group)) if isinstance(s, AllReduce) and s.group is not None else s

    return replace(
        strategy, variables=tuple(replace(v, shards=tuple(map(shard, v.shards))) for v in strategy.variables)
    )


def _canonical(strategy: Strategy) -> Strategy:
    """Groups in the order of their first shards; what means nothing for dense variables at its default."""
    seen: dict[int, int] = {}
    for entry in strategy.variables:
        for s in entry.shards:
            if isinstance(s, AllReduce) and s.group is not None:
                seen.setdefault(s.group, len(seen))
    sparse = {v.name for v in MODEL.variables if v.sparse}

    def plain(entry: VariableStrategy) -> VariableStrategy:
        if entry.variable in sparse:
            return entry
        shards = tuple(replace(s, sparse_as="gather") if isinstance(s, AllReduce) else s for s in entry.shards)
        return replace(entry, shards=shards)

    renamed = _map_groups(strategy, seen.__getitem__)
    return replace(renamed, variables=tuple(map(plain, renamed.variables)))


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_strategies_round_trip_up_to_the_names_of_groups(seed: int) -> None:
    strategies = _strategies(seed)
    batch = StrategyBatch.encode(strategies, MODEL, CLUSTER)
    assert len(batch) == len(strategies)
    assert list(batch) == [_canonical(s) for s in strategies]
    assert np.array_equal(StrategyBatch.encode(list(batch), MODEL, CLUSTER).hashes, batch.hashes)


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_renamed_groups_have_equal_hashes(seed: int) -> None:
    strategies = _strategies(seed)
    names = np.random.default_rng(seed).permutation(1000)
    # Anyone's file may number groups as it likes.
    renamed = [_map_groups(s, lambda g: int(names[g]) << 40) for s in strategies]
    first, second = (StrategyBatch.encode(x, MODEL, CLUSTER) for x in (strategies, renamed))
    assert np.array_equal(first.hashes, second.hashes)
    assert list(first) == list(second)


@pytest.mark.parametrize("name", CASES)
def test_different_strategies_have_different_hashes(name: str) -> None:
    case = CASES[name]
    hashes = StrategyBatch.encode(case.everything, case.model, case.cluster).hashes
    assert len(set(hashes.tolist())) == len(case.everything)


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=40)
def test_parts_and_joins_are_those_of_lists(seed: int, data: st.DataObject) -> None:
    strategies = [_canonical(s) for s in _strategies(seed)]
    batch = StrategyBatch.encode(strategies, MODEL, CLUSTER)
    n = len(batch)
    indices = data.draw(st.lists(st.integers(-n, n - 1), max_size=20))
    mask = np.asarray(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    part = data.draw(st.slices(n))
    assert list(batch[indices]) == [strategies[i] for i in indices]
    assert list(batch[mask]) == [s for s, kept in zip(strategies, mask, strict=True) if kept]
    assert list(batch[part]) == strategies[part]
    joined = StrategyBatch.concatenate([batch[part], batch[mask], batch[:0], batch[indices]])
    assert list(joined) == [*batch[part], *batch[mask], *batch[indices]]
    assert np.array_equal(joined.hashes[: len(batch[part])], batch.hashes[part])
    assert np.array_equal(joined.start, np.concatenate([[0], np.cumsum(joined.shards)]))


def test_an_index_that_is_not_there_is_an_error() -> None:
    batch = StrategyBatch.encode(_strategies(1), MODEL, CLUSTER)
    assert batch[-1] == batch[len(batch) - 1]
    with pytest.raises(IndexError):
        batch[len(batch)]


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_shares_owners_and_variables_of_shards(seed: int) -> None:
    strategies = _strategies(seed, 4)
    batch = StrategyBatch.encode(strategies, MODEL, CLUSTER)
    share, variable, candidate = [], [], []
    for c, strategy in enumerate(strategies):
        for v, (described, entry) in enumerate(zip(MODEL.variables, strategy.variables, strict=True)):
            for shape in shard_shapes(described, entry):
                share.append(np.prod(shape) / described.size)
                variable.append(v)
                candidate.append(c)
    assert batch.share == pytest.approx(share)
    assert batch.variable.tolist() == variable
    assert batch.candidate.tolist() == candidate


def test_encoding_refuses_what_is_not_valid() -> None:
    strategy = _strategies(1)[0]
    with pytest.raises(InvalidStrategy, match="replicas"):
        StrategyBatch.encode([replace(strategy, replicas=strategy.replicas + 1)], MODEL, CLUSTER)


def test_encoding_says_what_a_batch_cannot_hold() -> None:
    strategy = _strategies(1)[0]
    with pytest.raises(InvalidStrategy, match="push credit"):
        StrategyBatch.encode([strategy.with_settings(push_credit=2**31)], MODEL, CLUSTER)
    long = ModelSpec("long", (Variable("long", (40_000,)),), 1)
    cut = Strategy((VariableStrategy("long", (AllReduce(),) * 40_000, 0),), CLUSTER.replicas)
    with pytest.raises(InvalidStrategy, match="'long'"):
        StrategyBatch.encode([cut], long, CLUSTER)


def test_batches_of_different_models_or_none_are_not_joined() -> None:
    batch = StrategyBatch.encode(_strategies(1), MODEL, CLUSTER)
    other = StrategySpace(load_model("ncf-small"), CLUSTER).sample(2)
    with pytest.raises(InvalidInput, match="one model and cluster"):
        StrategyBatch.concatenate([batch, other])
    with pytest.raises(InvalidInput, match="at least one batch"):
        StrategyBatch.concatenate([])


def test_no_strategies_encode_to_an_empty_batch() -> None:
    batch = StrategyBatch.encode([], MODEL, CLUSTER)
    assert len(batch) == 0
    assert batch.share.shape == batch.variable.shape == batch.candidate.shape == (0,)


@pytest.mark.parametrize("builder", builder_names())
def test_builders_strategies_encode(builder: str) -> None:
    model = load_model("lm-small")
    strategy = build_strategy(builder, model, CLUSTER)
    batch = StrategyBatch.encode([strategy], model, CLUSTER)
    again = StrategyBatch.encode([batch[0]], model, CLUSTER)
    assert np.array_equal(batch.hashes, again.hashes)
