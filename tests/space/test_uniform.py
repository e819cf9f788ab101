"""`sample_uniform`: every strategy of a space is equally likely."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from autosync_lab.model import Variable
from autosync_lab.space import DEFAULT_CONSTRAINTS, Constraint, PartitionBounds, StrategyBatch, StrategySpace
from tests.space.cases import BIAS, KERNEL, ONE_NODE, PAIR, SCALE, TABLE, TWO_ON_A_NODE, WITH_SERVER, Case

DRAWS_EACH = 25
P_VALUE = 1e-4

DENSE = Case((BIAS, SCALE), PAIR, max_shards=2)
CUT = Case((KERNEL,), ONE_NODE)
SPARSE = Case((TABLE, SCALE), ONE_NODE)
LOSSY = Case((BIAS, SCALE), ONE_NODE, max_shards=2, lossy=True)
LOSSY_SPARSE = Case((TABLE,), ONE_NODE, max_shards=2, lossy=True)
SETTINGS = Case((SCALE,), TWO_ON_A_NODE, asynchronous=True, push_credits=(0, 3, 9))
SERVER = Case((BIAS, SCALE), WITH_SERVER, max_shards=2)
PARTITION = PartitionBounds(min_bytes=4)

SPACES: dict[str, tuple[Case, tuple[str | Constraint, ...], dict[str, dict[str, Any]]]] = {
    "bare": (DENSE, (), {}),
    "two axes": (CUT, (), {}),
    "sparse": (SPARSE, (), {}),
    "lossy": (LOSSY, (), {}),
    "lossy and sparse": (LOSSY_SPARSE, (), {}),
    "settings": (SETTINGS, (), {}),
    "one synchronizer": (DENSE, ("same-synchronizer-per-variable",), {}),
    "one synchronizer, lossy": (LOSSY, ("same-synchronizer-per-variable",), {}),
    "adjacent groups": (SPARSE, ("adjacent-merge",), {}),
    "adjacent groups, lossy": (LOSSY, ("adjacent-merge",), {}),
    "adjacent groups, one synchronizer": (CUT, ("adjacent-merge", "same-synchronizer-per-variable"), {}),
    "greedy placement": (SERVER, ("load-balance",), {}),
    "balanced placement": (SERVER, ("load-balance-softmax",), {}),
    "bounds": (CUT, (PartitionBounds(min_bytes=8, max_shards=2),), {}),
    "all default ones": (
        Case((BIAS, TABLE), TWO_ON_A_NODE, max_shards=2, push_credits=(0, 4)),
        tuple(PARTITION if name == "partition-bounds" else name for name in DEFAULT_CONSTRAINTS),
        {},
    ),
    "locked to all-reduce": (DENSE, (), {"bias": {"synchronizer": "ar"}}),
    "locked to servers": (DENSE, (), {"bias": {"synchronizer": "ps"}, "scale": {"local_replication": False}}),
    "locked compressors": (LOSSY, (), {"bias": {"compressor": "fp16", "shards": 2}}),
    "locked compressors, adjacent": (LOSSY_SPARSE, ("adjacent-merge",), {"table": {"sparse_as": "dense"}}),
}


def _space(name: str) -> StrategySpace:
    case, added, locks = SPACES[name]
    space = case.space
    for variable, choices in locks.items():
        space = space.lock(variable, **choices)
    return space.constrain(added)


@pytest.mark.parametrize("name", SPACES)
def test_every_strategy_is_equally_likely(name: str) -> None:
    case, space = SPACES[name][0], _space(name)
    everything = case.encoded
    left = [int(h) for h in everything.hashes[space.check(everything)]]
    assert len(left) == len(set(left)) > 1
    batch = space.sample_uniform(DRAWS_EACH * len(left), seed=3)
    drawn = Counter(int(h) for h in batch.hashes)
    assert set(drawn) <= set(left)
    assert stats.chisquare([drawn[h] for h in left]).pvalue > P_VALUE


@pytest.mark.parametrize("name", SPACES)
def test_settings_groups_and_formats_are_canonical(name: str) -> None:
    batch = _space(name).sample_uniform(200, seed=1)
    again = StrategyBatch.encode(list(batch), batch.model, batch.cluster)
    assert np.array_equal(again.hashes, batch.hashes)
    assert np.array_equal(again.group, batch.group)


def test_draws_from_a_large_space_have_the_exact_mean_numbers_of_shards_and_groups() -> None:
    variables, most = 8, 40
    case = Case(tuple(Variable(f"v{i}", (most,)) for i in range(variables)), ONE_NODE, max_shards=most)
    batch = case.space.sample_uniform(1_000, seed=5)
    # Coefficient m: ways to choose partitions, servers (2 choices) and which m shards are all-reduced.
    ways = [1]
    for _ in range(variables):
        longer = [0] * (len(ways) + most)
        for i, a in enumerate(ways):
            for m in range(most + 1):
                longer[i + m] += a * sum(math.comb(k, m) * 2 ** (k - m) for k in range(max(m, 1), most + 1))
        ways = longer
    bell = _bell_numbers(len(ways) + 1)
    size = sum(a * bell[m + 1] for m, a in enumerate(ways))
    # Groups, with the loose shards one block more, are the blocks of partitions of m + 1 elements: B(m + 2) - B(m + 1).
    groups = Fraction(sum(a * (bell[m + 2] - 2 * bell[m + 1]) for m, a in enumerate(ways)), size)
    reduced = Fraction(sum(a * m * bell[m + 1] for m, a in enumerate(ways)), size)
    reduced_drawn = np.bincount(batch.candidate[batch.destination < 0], minlength=len(batch))
    groups_drawn = np.zeros(len(batch))
    np.maximum.at(groups_drawn, batch.candidate, batch.group + 1)
    for drawn, expected in ((reduced_drawn, reduced), (groups_drawn, groups)):
        assert drawn.mean() == pytest.approx(float(expected), abs=5 * drawn.std() / math.sqrt(len(batch)))


def _bell_numbers(most: int) -> list[int]:
    """B(0) to B(`most`), by the triangle of Peirce."""
    row, bell = [1], [1]
    for _ in range(most):
        row = [*itertools.accumulate(row, initial=row[-1])]
        bell.append(row[0])
    return bell


def test_a_large_space_is_drawn_from_too() -> None:
    case = Case(tuple(Variable(f"v{i}", (64, 8)) for i in range(12)), PAIR, max_shards=40, lossy=True)
    batch = case.space.sample_uniform(50, seed=2)
    assert case.space.check(batch).all()
    # Nearly all strategies of a space have very many shards.
    assert batch.shards.mean() > 30
