"""The fast fidelity against the timeline: where both are equal, how far apart they may be, and what neither breaks."""

from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.errors import InvalidInput, InvalidStrategy
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.simulator import Calibration, CostModel
from autosync_lab.simulator.timeline import play
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategyBatch, StrategySpace
from autosync_lab.strategy import AllReduce, Strategy, VariableStrategy, build_strategy, builder_names, link_time_s
from tests.simulator.cases import FREE, ar, cluster, exact_s, fast_s, model, ps, strategy
from tests.strategies import random_strategy

MODELS = ("ncf-small", "vgg-mini", "bert-tiny", "resnet-mini", "vgg16")
CLUSTERS = ("local-2", "emulated-4", "emulated-2x2", "emulated-hetero-4", "emulated-servers", "cluster-a", "cluster-b")

LEAST, MOST = 0.5, 1.6
"""The fast fidelity lies between these factors of the timeline, whatever the strategy: it overlooks that transfers wait
for one another on two links at once, and takes row pulls and push credits as if all replicas were the slowest."""

MEDIAN = (0.88, 1.03)
"""Its median factor, for each model over all clusters."""

RANK = 0.95
"""Spearman's correlation of the two, for each model over all clusters."""


@cache
def both(name: str, free: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Step times of wild strategies, of ones from the default space, and of the builders': fast and exact."""
    of = load_model(name)
    fast: list[float] = []
    exact: list[float] = []
    for where in CLUSTERS:
        on = load_cluster(where)
        rng = np.random.default_rng(4)
        some = [random_strategy(of, on, rng, lossy=True) for _ in range(12)]
        some += list(StrategySpace(of, on).constrain(DEFAULT_CONSTRAINTS).sample(20, 3))
        some += [build_strategy(n, of, on) for n in builder_names()]
        cost = CostModel(of, on, FREE if free else None)
        fast += cost.step_time(StrategyBatch.encode(some, of, on)).tolist()
        exact += [play(cost, s).step_time_s for s in some]
    return np.asarray(fast), np.asarray(exact)


@pytest.mark.parametrize("free", [False, True], ids=["typical", "only links"])
@pytest.mark.parametrize("name", MODELS)
def test_the_fidelities_agree(name: str, free: bool) -> None:
    fast, exact = both(name, free)
    factor = fast / exact
    assert factor.min() > LEAST
    assert factor.max() < MOST
    assert MEDIAN[0] < np.median(factor) < MEDIAN[1]
    assert spearmanr(fast, exact).statistic > RANK


@pytest.mark.parametrize("builder", ["ps", "all-reduce", "horovod"])
@pytest.mark.parametrize("where", CLUSTERS)
@pytest.mark.parametrize("name", ["vgg-mini", "resnet101", "vgg16", "bert-large"])
def test_one_server_or_only_collectives_are_alike(name: str, where: str, builder: str) -> None:
    of, on = load_model(name), load_cluster(where)
    how = build_strategy(builder, of, on)
    assert fast_s(of, on, how, Calibration.typical(on)) == pytest.approx(
        exact_s(of, on, how, Calibration.typical(on)), rel=0.02
    )


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_a_variable_cut_over_all_workers_is_alike(nodes: int) -> None:
    # A worker pushes nothing that it owns itself: of two nodes, each sends half.
    on = cluster(nodes)
    spread = strategy(on, tuple(ps(f"w{i}") for i in range(nodes)))
    assert fast_s(model(60), on, spread) == pytest.approx(2 * (nodes - 1) / nodes * 0.06)


def test_push_credit_1_waits_for_the_server_before_the_next_push() -> None:
    # Each shard of 10 MB keeps its server's downlink busy for 30 ms; while pushes wait for one another, servers take
    # turns instead of working at once. The last pull takes 30 ms more.
    on = cluster(3, 2)
    turns = tuple(ps(f"s{i % 2}") for i in range(4))
    for step_s in (exact_s, fast_s):
        assert step_s(model(40), on, strategy(on, turns, push_credit=1)) == pytest.approx(4 * 0.03 + 0.03)
        assert step_s(model(40), on, strategy(on, turns)) == pytest.approx(2 * 0.03 + 2 * 0.03)


def test_a_step_is_not_shorter_than_its_computing() -> None:
    on = cluster(2)
    early = model(10, compute_s=1.0, ready=(0.2,))
    for how in (strategy(on, ar()), strategy(on, ps("w0"))):
        assert fast_s(early, on, how) == pytest.approx(1.0)


TABLE = ModelSpec("table", (Variable("v0", (1000, 1), sparse=True, touched_rows=900.0),), 1, compute_s=0.0)
"""Rows of 4 bytes, less than what an index takes."""


def test_rows_on_one_node_cross_no_link() -> None:
    on = ClusterSpec("one", (Node("w0", 2, 1e-3, 1e-3, latency_s=0.5),), "virtual")
    for how in (strategy(on, ps("w0")), strategy(on, AllReduce())):
        assert exact_s(TABLE, on, how) == pytest.approx(fast_s(TABLE, on, how), abs=1e-6)
    assert exact_s(TABLE, on, strategy(on, ps("w0"))) == 0.0


def test_asking_for_rows_takes_the_links_too() -> None:
    on = cluster(3)
    how = strategy(on, ps("w0"))
    # Indices of 8 bytes go to the server, rows of 4 come back meanwhile, then rows are pushed with their indices.
    expected = 2 * 900 * (8 + 12) / 1e9
    assert exact_s(TABLE, on, how) == pytest.approx(expected)
    assert fast_s(TABLE, on, how) == pytest.approx(expected)
    assert expected >= link_time_s(TABLE, on, how)


def random_case(seed: int) -> tuple[ModelSpec, ClusterSpec, Strategy, np.random.Generator]:
    rng = np.random.default_rng(seed)
    speeds = [1.0, 2.0, 8.0]
    nodes = [
        Node(f"n{i}", int(rng.integers(0 if i else 1, 4)), float(rng.choice(speeds)), float(rng.choice(speeds)))
        for i in range(int(rng.integers(2, 6)))
    ]
    on = ClusterSpec("random", tuple(nodes), "virtual")
    variables = []
    for i in range(int(rng.integers(1, 7))):
        shape = (int(rng.integers(1, 400)), int(rng.integers(1, 300)))
        sparse = bool(rng.random() < 0.3)
        rows = float(rng.uniform(0.5, shape[0])) if sparse and shape[0] > 1 else None
        variables.append(
            Variable(f"v{i}", shape, sparse=rows is not None, touched_rows=rows, ready=float(rng.uniform(0.1, 1.0)))
        )
    of = ModelSpec("random", tuple(variables), 1, compute_s=float(rng.choice([0.0, 1e-4, 1e-2])))
    return of, on, random_strategy(of, on, rng, lossy=True), rng


@given(st.integers(0, 10**6))
@settings(max_examples=120)
def test_neither_is_below_the_links_or_computing(seed: int) -> None:
    of, on, how, rng = random_case(seed)
    calibration = FREE if rng.random() < 0.5 else Calibration()
    floor = max(link_time_s(of, on, how), of.compute_s or 0.0) * (1 - 1e-9)
    assert exact_s(of, on, how, calibration) >= floor
    assert fast_s(of, on, how, calibration) >= floor


@given(st.integers(0, 10**6))
@settings(max_examples=80)
def test_links_twice_as_fast_take_half_the_time(seed: int) -> None:
    of, on, how, _ = random_case(seed)
    of = replace(of, compute_s=0.0)
    fast_links = replace(
        on, nodes=tuple(replace(n, up_gbps=2 * n.up_gbps, down_gbps=2 * n.down_gbps) for n in on.nodes)
    )
    for step_s in (exact_s, fast_s):
        assert step_s(of, fast_links, how) == pytest.approx(step_s(of, on, how) / 2, rel=1e-3, abs=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=80)
def test_faster_links_make_no_step_much_slower(seed: int) -> None:
    of, on, how, _ = random_case(seed)
    faster = replace(on, nodes=tuple(replace(n, up_gbps=2 * n.up_gbps, down_gbps=2 * n.down_gbps) for n in on.nodes))
    for step_s in (exact_s, fast_s):
        assert step_s(of, faster, how, Calibration()) <= step_s(of, on, how, Calibration()) * 1.01


def test_a_batch_is_scored_one_by_one() -> None:
    of, on = load_model("bert-tiny"), load_cluster("emulated-servers")
    batch = StrategySpace(of, on, lossy=True).sample(20, 1)
    cost = CostModel(of, on)
    assert cost.step_time(batch).tolist() == [float(cost.step_time(batch[i : i + 1])[0]) for i in range(20)]


def test_batches_of_others_are_refused() -> None:
    of, on = load_model("bert-tiny"), load_cluster("emulated-4")
    batch = StrategySpace(of, on).sample(2, 1)
    for cost in (CostModel(load_model("vgg-mini"), on), CostModel(of, load_cluster("emulated-servers"))):
        with pytest.raises(InvalidInput, match="another model or cluster"):
            cost.step_time(batch)
    with pytest.raises(InvalidInput, match="of one strategy"):
        play(CostModel(of, on), batch)


def test_the_timeline_refuses_a_strategy_of_another_cluster() -> None:
    on = cluster(2)
    with pytest.raises(InvalidStrategy):
        CostModel(model(1), on).timeline(Strategy((VariableStrategy("v0", (ps("elsewhere"),)),), 2))
