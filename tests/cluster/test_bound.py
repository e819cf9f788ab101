"""The bandwidth bound against a linear program, a brute force, and published formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosync_lab.cluster import ClusterSpec, Node, bandwidth_bound
from autosync_lab.cluster.bound import server_shares, wire_nbytes
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy, link_time_s

MODEL = ModelSpec("one", (Variable("w", (1000, 250)),), 1)

gbps = st.floats(0.05, 20.0)
worker = st.tuples(st.integers(1, 3), gbps, gbps)
server = st.tuples(st.just(0), gbps, gbps)


def cluster_of(nodes: list[tuple[int, float, float]]) -> ClusterSpec:
    return ClusterSpec("c", tuple(Node(f"n{i}", r, up, down) for i, (r, up, down) in enumerate(nodes)))


def least_time_by_program(cluster: ClusterSpec, nbytes: float) -> float:
    """The bound as a linear program: shares of a PS on each node and of a ring all-reduce, and the time, are unknown."""
    from scipy.optimize import linprog

    workers = len(cluster.worker_nodes)
    count = len(cluster.nodes)
    rows = []
    for i, node in enumerate(cluster.nodes):
        own = 1.0 if node.replicas else 0.0
        load = [workers - own if d == i else own for d in range(count)]
        ring = 2 * (cluster.replicas - 1) / cluster.replicas * own
        for capacity in (node.up_bytes_per_s, node.down_bytes_per_s):
            rows.append([*load, ring, -capacity / nbytes])
    solved = linprog(
        [0.0] * (count + 1) + [1.0],
        A_ub=rows,
        b_ub=[0.0] * len(rows),
        A_eq=[[1.0] * (count + 1) + [0.0]],
        b_eq=[1.0],
    )
    return float(solved.fun)


@given(st.lists(worker, min_size=2, max_size=6), st.lists(server, max_size=4))
def test_the_bound_is_the_optimum_of_a_linear_program(
    workers: list[tuple[int, float, float]], servers: list[tuple[int, float, float]]
) -> None:
    cluster = cluster_of(workers + servers)
    expected = least_time_by_program(cluster, wire_nbytes(MODEL))
    assert bandwidth_bound(MODEL, cluster) == pytest.approx(expected, rel=1e-6)


@given(st.integers(3, 12), st.integers(0, 12), gbps)
def test_equal_links_give_the_published_formula(n: int, k: int, speed: float) -> None:
    cluster = cluster_of([(1, speed, speed)] * n + [(0, speed, speed)] * k)
    nbytes, rate = wire_nbytes(MODEL), speed * 1e9 / 8
    byteps = 2 * n * (n - 1) * nbytes / ((n * n + k * n - 2 * k) * rate)
    assert bandwidth_bound(MODEL, cluster) == pytest.approx(max(byteps, nbytes / rate), rel=1e-9)


def test_no_strategy_of_a_small_space_is_faster() -> None:
    """Every strategy for three variables on three unequal nodes and a server."""
    cluster = cluster_of([(1, 1.0, 2.0), (2, 3.0, 1.5), (1, 2.0, 2.0), (0, 4.0, 4.0)])
    model = ModelSpec("three", tuple(Variable(f"v{i}", (rows, 10)) for i, rows in enumerate((30, 50, 70))), 1)
    bound = bandwidth_bound(model, cluster)
    choices = [ParameterServer(n.name, local) for n in cluster.nodes for local in (False, True)] + [AllReduce(0)]
    times = [
        link_time_s(
            model,
            cluster,
            Strategy(
                tuple(VariableStrategy(v.name, (c,)) for v, c in zip(model.variables, chosen, strict=True)),
                cluster.replicas,
            ),
        )
        for chosen in itertools.product(choices, repeat=3)
    ]
    assert min(times) >= bound * (1 - 1e-12)
    assert min(times) < 2 * bound


@given(st.lists(worker, min_size=2, max_size=5), st.lists(server, max_size=3))
def test_the_shares_reach_the_bound(
    workers: list[tuple[int, float, float]], servers: list[tuple[int, float, float]]
) -> None:
    cluster = cluster_of(workers + servers)
    shares = server_shares(cluster)
    assert sum(shares) == pytest.approx(1.0)
    n = len(workers)
    loads = [1 + x * (n - 2) if node.replicas else x * n for x, node in zip(shares, cluster.nodes, strict=True)]
    times = [
        load * wire_nbytes(MODEL) / min(node.up_bytes_per_s, node.down_bytes_per_s)
        for load, node in zip(loads, cluster.nodes, strict=True)
    ]
    assert max(times) == pytest.approx(bandwidth_bound(MODEL, cluster), rel=1e-6)


def test_what_needs_no_link_takes_no_time() -> None:
    assert bandwidth_bound(MODEL, cluster_of([(4, 1.0, 1.0)])) == 0.0
    assert bandwidth_bound(MODEL, cluster_of([(4, 1.0, 1.0), (0, 1.0, 1.0)])) == 0.0
    assert bandwidth_bound(MODEL, cluster_of([(1, math.inf, math.inf)] * 3)) == 0.0


def test_sparse_variables_count_touched_rows_and_never_more_than_the_whole() -> None:
    sparse = Variable("e", (1000, 10), sparse=True, touched_rows=30.0)
    assert wire_nbytes(ModelSpec("s", (sparse,), 1)) == 30 * 40
    assert wire_nbytes(MODEL) == 1_000_000
    assert wire_nbytes(MODEL, narrowest=True) == 500_000
    half = ModelSpec("h", (Variable("w", (10,), "float16"),), 1)
    assert wire_nbytes(half, narrowest=True) == wire_nbytes(half) == 20


def test_lossy_semantics_have_a_lower_bound() -> None:
    cluster = cluster_of([(1, 1.0, 1.0)] * 4)
    assert bandwidth_bound(MODEL, cluster, lossless=False) == pytest.approx(bandwidth_bound(MODEL, cluster) / 2)
    assert np.isfinite(bandwidth_bound(MODEL, cluster))
