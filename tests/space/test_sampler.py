"""`sample`: draws are distributed as the sampler's docstring says, the same in every process."""

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, Constraint, PartitionBounds, StrategySpace
from autosync_lab.strategy import validate_strategy
from tests.space.cases import BIAS, KERNEL, LOOKED_UP, ONE_NODE, PAIR, SCALE, TABLE, Case
from tests.space.claimed_sample import chance

DRAWS = 60_000
LEAST_EXPECTED = 5.0
"""Draws that a cell of a chi-square test should expect; rarer strategies share one."""
P_VALUE = 1e-4

UNEQUAL = ClusterSpec("unequal", (Node("a", 1, 1, 1), Node("b", 1, 2, 2), Node("c", 0, 2, 2)))

SPACES: dict[str, tuple[Case, tuple[str | Constraint, ...], dict[str, dict[str, Any]]]] = {
    "bare": (Case((BIAS, SCALE), PAIR, max_shards=2, push_credits=(0, 4)), (), {}),
    "style of shards": (Case((KERNEL,), ONE_NODE), (), {}),
    "three variables": (Case((BIAS, SCALE, LOOKED_UP), ONE_NODE, max_shards=2), ("embedding-axis-0",), {}),
    "sparse": (Case((TABLE, SCALE), ONE_NODE, asynchronous=True), ("same-synchronizer-per-variable",), {}),
    "lossy": (Case((BIAS, SCALE), ONE_NODE, max_shards=2, lossy=True), (), {}),
    "lossy and sparse": (Case((TABLE,), ONE_NODE, max_shards=2, lossy=True), (), {}),
    "must be cut": (Case((KERNEL, SCALE), ONE_NODE), (PartitionBounds(min_bytes=4, always_above=4),), {}),
    "adjacent groups": (Case((KERNEL, BIAS), ONE_NODE, max_shards=2), ("adjacent-merge",), {"bias": {"shards": 2}}),
    "softmax": (Case((KERNEL, SCALE), UNEQUAL, max_shards=2), ("load-balance-softmax",), {}),
    "greedy": (Case((BIAS, SCALE), UNEQUAL, max_shards=2), ("load-balance",), {}),
    "locked": (
        Case((BIAS, SCALE), PAIR, max_shards=2, lossy=True),
        (),
        {"bias": {"compressor": "bf16"}, "scale": {"destination": "b"}},
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_draws_are_distributed_as_the_docstring_says(name: str) -> None:
    case, added, locks = SPACES[name]
    space = case.space
    for variable, choices in locks.items():
        space = space.lock(variable, **choices)
    space = space.constrain(added)
    everything = case.encoded
    left = everything[space.check(everything)]
    claimed = {
        int(h): chance(s, case.model, case.cluster, space.domain) for h, s in zip(left.hashes, left, strict=True)
    }
    assert sum(claimed.values()) == pytest.approx(1.0)
    drawn = Counter(int(h) for h in space.sample(DRAWS, seed=11).hashes)
    assert set(drawn) <= {h for h, p in claimed.items() if p > 0}
    observed, expected = [0.0], [0.0]
    for h, p in claimed.items():
        if p * DRAWS >= LEAST_EXPECTED:
            observed.append(drawn[h])
            expected.append(p * DRAWS)
        else:
            observed[0] += drawn[h]
            expected[0] += p * DRAWS
    first = 0 if expected[0] >= LEAST_EXPECTED else 1
    total = sum(observed[first:]) / sum(expected[first:])
    assert stats.chisquare(observed[first:], np.asarray(expected[first:]) * total).pvalue > P_VALUE


def test_the_first_draws_do_not_depend_on_their_number() -> None:
    for added in ((), DEFAULT_CONSTRAINTS):
        space = StrategySpace(load_model("ncf-small"), load_cluster("emulated-servers"), lossy=True).constrain(added)
        assert np.array_equal(space.sample(7, seed=5).hashes, space.sample(40, seed=5).hashes[:7])


def test_seeds_differ() -> None:
    space = StrategySpace(load_model("vgg-mini"), load_cluster("emulated-servers"))
    hashes = np.concatenate([space.sample(50, seed).hashes for seed in range(4)])
    assert len(set(hashes.tolist())) == len(hashes)


REPRODUCED = """
import autosync_lab as asl
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
model, cluster = asl.load_model("lm-small"), asl.load_cluster("emulated-servers")
for added in ((), DEFAULT_CONSTRAINTS, ("load-balance-softmax", "adjacent-merge")):
    space = StrategySpace(model, cluster, lossy=True, asynchronous=True).constrain(added)
    first = space.sample(6, 1)
    second = space.sample(6, 2) if "load-balance-softmax" in added else space.sample_uniform(6, 2)
    for batch in (first, second, space.mutate(first, 3, 0.3), space.crossover(first, second, 4)):
        print(*batch.hashes)
"""


def test_the_same_seed_gives_the_same_strategies_in_fresh_processes(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(REPRODUCED, "reproduced", "exec"), {})
    here = capsys.readouterr().out
    there = subprocess.run([sys.executable, "-c", REPRODUCED], capture_output=True, text=True, check=True).stdout
    assert there == here
    assert len(here.split()) == 3 * 4 * 6


@pytest.mark.parametrize("added", [(), DEFAULT_CONSTRAINTS, ("load-balance-softmax",)])
@pytest.mark.parametrize("model", ["ncf-small", "bert-tiny"])
@pytest.mark.parametrize("cluster", ["emulated-servers", "cluster-b"])
def test_draws_are_valid_and_in_the_space(model: str, cluster: str, added: tuple[str, ...]) -> None:
    space = StrategySpace(load_model(model), load_cluster(cluster), lossy=True, asynchronous=True).constrain(added)
    batches = [space.sample(30, seed=1)]
    if "load-balance-softmax" not in added:
        batches.append(space.sample_uniform(10, seed=1))
    for batch in batches:
        assert space.check(batch).all()
        for strategy in batch:
            validate_strategy(strategy, space.model, space.cluster)
            assert space.violations(strategy) == ()


def test_no_strategies_at_all_is_an_empty_batch() -> None:
    space = Case((BIAS, TABLE), PAIR).space.constrain("load-balance-softmax")
    for batch in (space.sample(0), space.sample_uniform(0)):
        assert len(batch) == 0
        assert list(batch) == []
        assert batch.hashes.shape == (0,)
        assert space.check(batch).shape == (0,)


@pytest.mark.parametrize(("n", "seed"), [(-1, 0), (2.5, 0), (True, 0), (1, -1), (1, "x")])
def test_counts_and_seeds_are_whole_numbers(n: Any, seed: Any) -> None:
    space = Case((BIAS,), PAIR).space
    for sample in (space.sample, space.sample_uniform):
        with pytest.raises(InvalidInput, match="a whole number of 0 or more"):
            sample(n, seed)
