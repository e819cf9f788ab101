"""The bandwidth bound against a linear program, a brute force, and published formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosync_lab.cluster import ClusterSpec, Node, bandwidth_bound
from autosync_lab.cluster.bound import row_shares, server_shares, wire_nbytes
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy, link_time_s
from tests.strategies import random_strategy

MODEL = ModelSpec("one", (Variable("w", (1000, 250)),), 1)

gbps = st.floats(0.05, 20.0)
worker = st.tuples(st.integers(1, 3), gbps, gbps)
server = st.tuples(st.just(0), gbps, gbps)


def cluster_of(nodes: list[tuple[int, float, float]]) -> ClusterSpec:
    return ClusterSpec("c", tuple(Node(f"n{i}", r, up, down) for i, (r, up, down) in enumerate(nodes)))


def least_time_by_program(cluster: ClusterSpec, nbytes: float) -> float:
    """The bound as a linear program: unknown are the shares of a PS on each node and of a ring, and the time."""
    from scipy.optimize import linprog

    workers = len(cluster.worker_nodes)
    count = len(cluster.nodes)
    rows = []
    for i, node in enumerate(cluster.nodes):
        own = 1.0 if node.replicas else 0.0
        load = [workers - own if d == i else own for d in range(count)]
        ring = 2 * (cluster.replicas - 1) / cluster.replicas * own
        rows += [[*load, ring, -way / nbytes] for way in (node.up_bytes_per_s, node.down_bytes_per_s)]
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


def test_compressors_halve_the_bound_of_equal_links_but_not_of_what_is_narrow_already() -> None:
    cluster = cluster_of([(1, 1.0, 1.0)] * 4)
    for dtype, fraction in (("float32", 1 / 2), ("float64", 1 / 4), ("float16", 1), ("bfloat16", 1)):
        model = ModelSpec("m", (Variable("w", (1000, 250), dtype),), 1)
        expected = fraction * bandwidth_bound(model, cluster)
        assert bandwidth_bound(model, cluster, lossless=False) == pytest.approx(expected)


def test_only_an_all_reduce_is_compressed_so_a_slow_link_halves_less() -> None:
    cluster = cluster_of([(1, 4.0, 4.0)] * 3 + [(1, 1.0, 1.0)])
    second_per_model = 1_000_000 / (1e9 / 8)
    assert bandwidth_bound(MODEL, cluster) == pytest.approx(second_per_model)
    assert bandwidth_bound(MODEL, cluster, lossless=False) == pytest.approx(2 * 3 / 4 / 2 * second_per_model)


def least_lossy_time_by_program(cluster: ClusterSpec, model: ModelSpec) -> float:
    """The lossy bound as a linear program: per variable the shares of a PS on each node and of a narrow all-reduce, the
    time until all rows are pulled, and the time of everything after that."""
    from scipy.optimize import linprog

    n = len(cluster.worker_nodes)
    options = len(cluster.nodes) + 1
    unknown = options * len(model.variables) + 2
    limits, sums = [], []
    for i, node in enumerate(cluster.nodes):
        own = 1.0 if node.replicas else 0.0
        # Bytes of node i by unknown: sent and received before there are gradients, sent and received after.
        loads = np.zeros((4, unknown))
        for v, variable in enumerate(model.variables):
            nbytes = variable.gradient_nbytes
            for d in range(options - 1):
                at = v * options + d
                served, own_way = nbytes * (n - own) * (d == i), nbytes * own * (d != i)
                if variable.sparse:
                    loads[:, at] = served, own_way, own_way, served
                else:
                    loads[2:, at] = served + own_way
            loads[2:, v * options + options - 1] = own * 2 * (n - 1) / n * min(variable.nbytes, 2 * variable.size)
        loads[[0, 2], [-2, -1]] = -node.up_bytes_per_s
        loads[[1, 3], [-2, -1]] = -node.down_bytes_per_s
        limits += list(loads)
    for v in range(len(model.variables)):
        row = [0.0] * unknown
        row[v * options : (v + 1) * options] = [1.0] * options
        sums.append(row)
    scale = 1e-6  # megabytes: the solver likes numbers near 1
    solved = linprog(
        [0.0] * (unknown - 2) + [1.0, 1.0],
        A_ub=np.asarray(limits) * scale,
        b_ub=[0.0] * len(limits),
        A_eq=sums,
        b_eq=[1.0] * len(sums),
    )
    return float(solved.fun)


dense = st.builds(
    lambda rows, dtype: ((rows, 250), dtype), st.integers(100, 2000), st.sampled_from(["float32", "float64", "float16"])
)
touched = st.floats(1.0, 1000.0)


@given(
    st.lists(worker, min_size=2, max_size=5),
    st.lists(server, max_size=3),
    st.lists(dense, min_size=1, max_size=3),
    st.none() | touched,
)
def test_the_lossy_bound_is_the_optimum_of_a_linear_program_and_below_it_with_rows(
    workers: list[tuple[int, float, float]],
    servers: list[tuple[int, float, float]],
    shapes: list[tuple[tuple[int, int], str]],
    rows: float | None,
) -> None:
    cluster = cluster_of(workers + servers)
    variables = [Variable(f"d{i}", shape, dtype) for i, (shape, dtype) in enumerate(shapes)]
    if rows is not None:
        variables.append(Variable("s", (1000, 300), sparse=True, touched_rows=rows))
    model = ModelSpec("m", tuple(variables), 1)
    bound, optimum = bandwidth_bound(model, cluster, lossless=False), least_lossy_time_by_program(cluster, model)
    assert bound <= optimum * (1 + 1e-6)
    if rows is None:
        assert bound == pytest.approx(optimum, rel=1e-6)


@given(st.lists(gbps, min_size=2, max_size=5), st.lists(server, max_size=2), touched)
def test_rows_are_pulled_and_pushed_at_the_bound_by_their_shares(
    speeds: list[float], servers: list[tuple[int, float, float]], rows: float
) -> None:
    cluster = cluster_of([(1, speed, speed) for speed in speeds] + servers)
    table = Variable("s", (10_000, 300), sparse=True, touched_rows=rows)
    model = ModelSpec("m", (table,), 1)
    shares, n = row_shares(cluster), len(speeds)
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) >= 0.0
    busiest = max(
        max(1 - x if node.replicas else 0.0, (n - (node.replicas > 0)) * x)
        * table.gradient_nbytes
        / node.up_bytes_per_s
        for x, node in zip(shares, cluster.nodes, strict=True)
    )
    assert bandwidth_bound(model, cluster) == pytest.approx(2 * busiest, rel=1e-6)
    assert bandwidth_bound(model, cluster) <= least_lossy_time_by_program(cluster, model) * (1 + 1e-6)


MIXED = ModelSpec(
    "mixed",
    (
        Variable("a", (60, 30)),
        Variable("b", (20, 20), "float64"),
        Variable("c", (50, 9), "float16"),
        Variable("d", ()),
        Variable("few", (900, 8), sparse=True, touched_rows=11.0),
        Variable("many", (90, 8), sparse=True, touched_rows=80.0),
    ),
    1,
)


@given(st.lists(worker, min_size=1, max_size=4), st.lists(server, max_size=2), st.integers(0, 2**32), st.booleans())
def test_no_random_strategy_is_faster(
    workers: list[tuple[int, float, float]], servers: list[tuple[int, float, float]], seed: int, lossy: bool
) -> None:
    cluster = cluster_of(workers + servers)
    strategy = random_strategy(MIXED, cluster, np.random.default_rng(seed), lossy=lossy)
    time = link_time_s(MIXED, cluster, strategy)
    assert time >= bandwidth_bound(MIXED, cluster, lossless=strategy.lossless) * (1 - 1e-9)


def test_a_lone_node_with_replicas_serves_itself() -> None:
    assert server_shares(cluster_of([(4, 1.0, 1.0), (0, 1.0, 1.0), (0, 9.0, 9.0)])) == (1.0, 0.0, 0.0)
