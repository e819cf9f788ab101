"""Sizes of spaces are exactly the numbers of strategies that brute force finds."""

import itertools
from dataclasses import replace
from math import comb, log10
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.model import Variable
from autosync_lab.space import CONSTRAINTS, DEFAULT_CONSTRAINTS, Constraint, PartitionBounds, StrategySpace
from autosync_lab.space.constraints import AdjacentMerge, LoadBalance
from tests.space.brute_force import keeps_lock
from tests.space.cases import BIAS, CASES, KERNEL, LOOKED_UP, ONE_NODE, PAIR, SCALE, TABLE, Case, log10_count

EXACT = tuple(name for name, make in CONSTRAINTS.items() if make().exact)
DEFAULTS_WITH_CUTS = tuple(PartitionBounds(min_bytes=4) if n == "partition-bounds" else n for n in DEFAULT_CONSTRAINTS)

ADDED: dict[str, tuple[str | Constraint, ...]] = {
    "nothing": (),
    **{name: (name,) for name in EXACT},
    "at most 2 shards of 8 bytes": (PartitionBounds(min_bytes=8, max_shards=2),),
    "cut above 4 bytes": (PartitionBounds(min_bytes=4, always_above=4),),
    "groups and one synchronizer": ("adjacent-merge", "same-synchronizer-per-variable"),
    "groups and placement": ("adjacent-merge", "load-balance"),
    "all default ones": DEFAULT_CONSTRAINTS,
    "all default ones with cuts": DEFAULTS_WITH_CUTS,
}


def _kept(space: StrategySpace, case: Case) -> npt.NDArray[np.bool_]:
    """Which of all strategies keep every constraint."""
    kept = np.ones(len(case.everything), np.bool_)
    for rule in space.constraints:
        # These two judge one strategy as a batch of it.
        slow = isinstance(rule, AdjacentMerge | LoadBalance)
        kept &= rule.holds_all(case.encoded) if slow else np.asarray([rule.holds(s) for s in case.everything])
    return kept


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("name", CASES)
def test_a_size_is_the_number_that_brute_force_finds(name: str, added: str) -> None:
    case = CASES[name]
    if case.max_shards == 1 and added.startswith("cut above"):
        with pytest.raises(InvalidInput, match="'table': constraint 'partition-bounds' leaves no choice"):
            case.space.constrain(ADDED[added])
        return
    space = case.space.constrain(ADDED[added])
    assert space.report().size.exact
    assert space.log10_size == pytest.approx(log10_count(int(_kept(space, case).sum())), abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_brute_force_finds_no_strategy_twice_and_only_valid_ones(name: str) -> None:
    case = CASES[name]
    assert len({s.id for s in case.everything}) == len(case.everything)
    assert case.space.check(case.encoded).all()


LOSSY = Case((TABLE, BIAS), ONE_NODE, max_shards=2, lossy=True)
MIXED = Case((TABLE, SCALE), PAIR)
WIDE = Case((KERNEL, SCALE), PAIR)
WHOLE = Case((LOOKED_UP, TABLE), PAIR, max_shards=1, lossy=True)
SMALL = Variable("small", ())
LANES = Case(
    (SMALL, replace(SMALL, name="smaller"), replace(SMALL, name="smallest"), TABLE), ONE_NODE, max_shards=1, lossy=True
)

LOCKS: dict[str, tuple[Case, dict[str, dict[str, Any]]]] = {
    "whole": (WIDE, {"kernel": {"axis": None}}),
    "axis": (WIDE, {"kernel": {"axis": 1}}),
    "shards": (WIDE, {"kernel": {"shards": 2}}),
    "axis and shards": (WIDE, {"kernel": {"axis": 0, "shards": 3}}),
    "server": (WIDE, {"kernel": {"synchronizer": "ps"}}),
    "all-reduce": (MIXED, {"table": {"synchronizer": "ar"}}),
    "destination": (MIXED, {"table": {"destination": "b"}}),
    "local replication": (MIXED, {"table": {"local_replication": True}}),
    "rows": (MIXED, {"table": {"sparse_as": "gather"}}),
    "densified": (MIXED, {"table": {"sparse_as": "dense"}}),
    "dense as it is": (MIXED, {"scale": {"sparse_as": "gather"}}),
    "everything on servers": (MIXED, {"table": {"synchronizer": "ps"}, "scale": {"destination": "a"}}),
    "uncompressed": (LOSSY, {"bias": {"compressor": "none"}}),
    "uncompressed sparse": (LOSSY, {"table": {"compressor": "none"}}),
    "one compressor": (LOSSY, {"bias": {"compressor": "fp16"}}),
    "compressed sparse": (LOSSY, {"table": {"compressor": "bf16"}}),
    "a compressor each": (LOSSY, {"bias": {"compressor": "fp16"}, "table": {"compressor": "fp16-ef"}}),
    "one compressor for both": (LOSSY, {"bias": {"compressor": "fp16"}, "table": {"compressor": "fp16"}}),
    "rows beside one compressor": (LOSSY, {"bias": {"compressor": "fp16"}, "table": {"sparse_as": "gather"}}),
    "whole and compressed": (WHOLE, {"embedding": {"compressor": "fp16"}}),
    "four lanes": (LANES, {"small": {"compressor": "fp16"}, "smaller": {"compressor": "bf16"}}),
    "five lanes": (
        LANES,
        {"small": {"compressor": "fp16"}, "smaller": {"compressor": "bf16"}, "smallest": {"compressor": "fp16-ef"}},
    ),
}


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("added", [(), ("adjacent-merge",), ("same-synchronizer-per-variable", "load-balance")])
def test_a_locked_size_is_the_number_that_brute_force_finds(name: str, added: tuple[str, ...]) -> None:
    case, locks = LOCKS[name]
    space = case.space
    for variable, choices in locks.items():
        space = space.lock(variable, **choices)
    space = space.constrain(added)
    locked = [all(keeps_lock(e, locks.get(e.variable, {})) for e in s.variables) for s in case.everything]
    assert space.log10_size == pytest.approx(log10_count(int((_kept(space, case) & locked).sum())), abs=1e-9)


def test_a_lock_of_compressors_for_rows_is_refused_in_either_order() -> None:
    for choices in ({"sparse_as": "gather", "compressor": "fp16"}, {"compressor": "fp16", "sparse_as": "gather"}):
        with pytest.raises(InvalidInput, match="table"):
            LOSSY.space.lock("table", **choices)


def _colourings(most: int, compressors: int) -> list[int]:
    """Ways to put 0 to `most` shards into groups or none, with a compressor for each group and each loose shard."""
    # ways[b] are those of so many shards beside b groups that are there already.
    ways = [1] * (most + 1)
    result = [1]
    for _ in range(most):
        ways = [(b + compressors) * ways[b] + compressors * ways[b + 1] for b in range(len(ways) - 1)]
        result.append(ways[0])
    return result


def _size_of_one_lane(variables: int, shards: int, served: int, compressors: int) -> int:
    """Exact size for dense vectors of so many elements, all-reduced with any of so many compressors."""
    one = [sum(comb(k, m) * served ** (k - m) for k in range(max(1, m), shards + 1)) for m in range(shards + 1)]
    polynomial = [1]
    for _ in range(variables):
        longer = [0] * (len(polynomial) + shards)
        for (i, a), (j, b) in itertools.product(enumerate(polynomial), enumerate(one)):
            longer[i + j] += a * b
        polynomial = longer
    return sum(a * w for a, w in zip(polynomial, _colourings(len(polynomial) - 1, compressors), strict=True))


@pytest.mark.parametrize(("variables", "lossy"), [(1, False), (5, True), (12, False)])
def test_large_sizes_are_those_of_exact_whole_numbers(variables: int, lossy: bool) -> None:
    case = Case(tuple(Variable(f"v{i}", (40,)) for i in range(variables)), PAIR, max_shards=40, lossy=lossy)
    exact = _size_of_one_lane(variables, 40, 4, 4 if lossy else 1)
    assert case.space.log10_size == pytest.approx(log10(exact), abs=1e-9)


def test_large_sizes_of_lanes_that_share_no_variable_are_products() -> None:
    formats = ("none", "fp16", "bf16", "fp16-ef")
    case = Case(tuple(Variable(f"v{i}", (40,)) for i in range(12)), ONE_NODE, max_shards=40, lossy=True)
    for lanes in (1, 2, 3):
        space = case.space
        for i in range(12):
            space = space.lock(f"v{i}", compressor=formats[i % lanes])
        exact = _size_of_one_lane(12 // lanes, 40, 0, 1) ** lanes
        assert space.log10_size == pytest.approx(log10(exact), abs=1e-9)
        assert space.check(space.sample_uniform(20)).all()
