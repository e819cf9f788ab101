"""The timeline's step times where bytes on links and computing are all that takes time: worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from autosync_lab.cluster import ClusterSpec, Node
from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.simulator import CostModel
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy, build_strategy, link_time_s
from tests.simulator.cases import FREE, ar, cluster, exact_s, fast_s, model, ps, strategy
from tests.strategies import random_strategy

close = pytest.approx


@pytest.mark.parametrize("nodes", [2, 3, 4, 7, 12])
def test_a_ring_sends_almost_twice_the_bytes(nodes: int) -> None:
    on = cluster(nodes)
    assert exact_s(model(100), on, strategy(on, ar())) == close(2 * (nodes - 1) / nodes * 0.1)


@pytest.mark.parametrize("nodes", [2, 3, 4, 7, 12])
def test_one_server_receives_from_all_and_then_sends_to_all(nodes: int) -> None:
    on = cluster(nodes)
    assert exact_s(model(100), on, strategy(on, ps("w0"))) == close(2 * (nodes - 1) * 0.1)


@pytest.mark.parametrize("nodes", [2, 4, 5])
def test_a_variable_cut_over_all_workers_takes_what_a_ring_takes(nodes: int) -> None:
    on = cluster(nodes)
    spread = strategy(on, tuple(ps(f"w{i}") for i in range(nodes)))
    assert exact_s(model(100), on, spread) == close(2 * (nodes - 1) / nodes * 0.1)


@pytest.mark.parametrize(("workers", "servers"), [(2, 1), (4, 2), (4, 4), (3, 5)])
def test_a_variable_cut_over_servers(workers: int, servers: int) -> None:
    # Each server takes n M / k, each worker sends M: what is more decides, first for pushes, then for pulls.
    on = cluster(workers, servers)
    spread = strategy(on, tuple(ps(f"s{i}") for i in range(servers)))
    assert exact_s(model(60), on, spread) == close(2 * 0.06 * max(workers / servers, 1))


@pytest.mark.parametrize(("workers", "servers"), [(3, 0), (4, 1), (4, 2), (6, 2), (3, 4)])
def test_no_placement_beats_the_bandwidth_bound(workers: int, servers: int) -> None:
    # BytePS's optimum, 2 n (n - 1) M / ((n^2 + k n - 2 k) B), while all servers are of use (Jiang et al., OSDI 2020).
    on = cluster(workers, servers)
    of = model(80, 40, 2)
    bound = bandwidth_bound(of, on)
    if servers <= workers:
        n, k = workers, servers
        assert bound == close(2 * n * (n - 1) * 0.122 / (n * n + k * n - 2 * k))
    for name in ("byteps", "partitioned-ps", "uneven-partitioned-ps", "ps-load-balanced", "ps", "all-reduce"):
        how = build_strategy(name, of, on)
        assert exact_s(of, on, how) >= link_time_s(of, on, how) * (1 - 1e-9) >= bound * (1 - 1e-9)


def test_pushes_and_pulls_of_many_shards_overlap() -> None:
    # Cut into many shards, what a server has applied goes back while the rest still comes in: with 2 shards of 50 MB
    # one after the other (credit 1), the pull of the first overlaps the push of the second.
    on = cluster(2)
    halves = (ps("w0"), ps("w0"))
    assert exact_s(model(100), on, strategy(on, halves, push_credit=1)) == close(0.15)
    # All at once they share the link, so all are through at the end only.
    assert exact_s(model(100), on, strategy(on, halves)) == close(0.2)


@pytest.mark.parametrize("shards", [2, 4, 10])
def test_push_credit_1_sends_shard_after_shard(shards: int) -> None:
    on = cluster(2)
    timeline = CostModel(model(100), on, FREE).timeline(strategy(on, (ps("w0"),) * shards, push_credit=1))
    pushes = sorted((e.start_s, e.end_s) for e in timeline.events if e.lane == "push")
    each = 0.1 / shards
    assert pushes == [(close(i * each, abs=1e-12), close((i + 1) * each)) for i in range(shards)]
    assert timeline.step_time_s == close(0.1 + each)


@pytest.mark.parametrize("credit", [2, 3])
def test_push_credit_bounds_how_many_are_in_flight(credit: int) -> None:
    on = cluster(3)
    how = strategy(on, tuple(ps(f"w{i % 3}") for i in range(12)), push_credit=credit)
    events = CostModel(model(100), on, FREE).timeline(how).events
    workers = {e.worker for e in events}
    for worker in workers:
        pushes = [e for e in events if e.lane == "push" and e.worker == worker]
        for push in pushes:
            middle = (push.start_s + push.end_s) / 2
            assert sum(e.start_s < middle < e.end_s for e in pushes) <= credit


def test_nothing_travels_on_one_node() -> None:
    on = cluster(1, replicas=3)
    of = model(100, 100, compute_s=0.05)
    assert exact_s(of, on, strategy(on, ps("w0"), ar())) == close(0.05)


def test_gradients_that_are_ready_early_hide_behind_computing() -> None:
    # 2 nodes: a ring carries 100 MB in 0.1 s. Ready after 0.3 of 1 s, it is over long before the step is.
    on = cluster(2)
    early = model(100, compute_s=1.0, ready=(0.3,))
    assert exact_s(early, on, strategy(on, ar())) == close(1.0)
    assert exact_s(early, on, strategy(on, ps("w0"))) == close(1.0)
    late = model(100, compute_s=1.0, ready=(0.95,))
    assert exact_s(late, on, strategy(on, ar())) == close(1.05)
    assert exact_s(late, on, strategy(on, ps("w0"))) == close(1.15)


def test_without_a_measured_time_floating_point_operations_decide() -> None:
    of = ModelSpec("counted", model(1).variables, 1, flops=5e11)
    on = cluster(1)
    assert exact_s(of, on, strategy(on, ar())) == close(0.5)
    assert exact_s(of, on, strategy(on, ar()), replace(FREE, compute_slowdown=3.0)) == close(1.5)
    measured = replace(of, compute_s=0.2)
    assert exact_s(measured, on, strategy(on, ar()), replace(FREE, compute_slowdown=3.0)) == close(0.6)


def test_no_step_is_shorter_than_its_computing() -> None:
    of = replace(load_model("bert-tiny"), compute_s=0.4)
    on = cluster(3, 1)
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert exact_s(of, on, random_strategy(of, on, rng)) >= 0.4


def test_collectives_go_one_after_the_other() -> None:
    # Of v1, the last layer, the gradient is ready first. Ring of 2: 1 ms for each megabyte.
    on = cluster(2)
    of = model(50, 100, compute_s=0.1, ready=(1.0, 0.5))
    timeline = CostModel(of, on, FREE).timeline(strategy(on, ar(0), ar(1)))
    spans = {e.name: (e.start_s, e.end_s) for e in timeline.events if e.lane == "all-reduce"}
    assert sorted(spans.values()) == [(close(0.05), close(0.15)), (close(0.15), close(0.2))]
    assert timeline.step_time_s == close(0.2)


def test_a_group_waits_for_its_last_gradient() -> None:
    on = cluster(2)
    of = model(50, 100, compute_s=0.1, ready=(1.0, 0.5))
    assert exact_s(of, on, strategy(on, ar(0), ar(0))) == close(0.1 + 0.15)


def test_without_groups_what_is_ready_is_fused() -> None:
    # v2 starts at 0.02 s and takes 0.1 s; v1 and v0, ready meanwhile, are agreed on together
    # after it: in no group they travel together too.
    on = cluster(2)
    of = model(10, 20, 100, compute_s=0.1, ready=(0.8, 0.6, 0.2))
    calibration = replace(FREE, collective_s=0.01)
    loose = strategy(on, ar(), ar(), ar())
    assert exact_s(of, on, loose, calibration) == close(0.02 + 0.11 + 0.03 + 0.01)
    apart = strategy(on, ar(0), ar(1), ar(2))
    assert exact_s(of, on, apart, calibration) == close(0.02 + 0.11 + 0.02 + 0.01 + 0.01)


def test_what_each_overhead_of_a_collective_adds() -> None:
    on = cluster(4)
    of = model(100)
    wire = 2 * 3 / 4 * 0.1
    for changes, added in (
        ({"collective_s": 0.02}, 0.02),
        ({"cycle_s": 0.01}, 0.005),
        ({"latency_s": 0.001}, 2 * 3 * 0.001),
        # Once when it is handed over, once in the collective.
        ({"tensor_s": 0.003}, 2 * 0.003),
        ({"reduce_s_per_byte": 1e-10}, 0.01),
        ({"step_s": 0.04}, 0.04),
        ({"link_efficiency": 0.5}, wire),
        ({"stream_bytes_per_s": 1e8}, 9 * wire),
    ):
        assert exact_s(of, on, strategy(on, ar()), replace(FREE, **changes)) == close(wire + added), changes


def test_what_each_narrow_format_adds() -> None:
    on, of = cluster(4), model(100)
    calibration = replace(FREE, fp16_s_per_byte=1e-10, bf16_s_per_byte=2e-10, feedback_s_per_byte=4e-10)
    for compressor, added in (("none", 0.0), ("fp16", 0.01), ("bf16", 0.02), ("fp16-ef", 0.05)):
        how = strategy(on, AllReduce(0, compressor))
        for seconds in (exact_s, fast_s):
            assert seconds(of, on, how, calibration) == close(seconds(of, on, how, FREE) + added), compressor


def test_a_collective_waits_behind_what_connections_have_under_way() -> None:
    # 100 MB take 0.1 s to the server and back; their push is under way when the collective may start.
    on = cluster(2)
    of = model(100, 1e-3)
    how = strategy(on, ps("w0"), ar(0))
    alone = 0.1 + 0.1
    assert exact_s(of, on, how) == close(alone, rel=1e-3)
    (group,) = (
        e for e in CostModel(of, on, FREE).timeline(how).events if e.lane == "all-reduce" and "replica 0" in e.worker
    )
    assert group.end_s == close(0.0, abs=1e-3)
    for window, waits in ((1e6, 3 * 1e-3), (10e6, 3 * 10e-3), (1e9, 0.1)):
        events = CostModel(of, on, replace(FREE, window_nbytes=window)).timeline(how).events
        (group,) = (e for e in events if e.lane == "all-reduce" and "replica 0" in e.worker)
        assert group.start_s == close(waits, rel=1e-2), window
    # Where nothing else is under way, it waits for nothing.
    only = strategy(on, ar(0), ar(0))
    assert exact_s(of, on, only, replace(FREE, window_nbytes=1e9)) == close(exact_s(of, on, only))


def test_work_for_servers_and_for_collectives_delays_each_other_where_cores_are_shared() -> None:
    on, of = cluster(2), model(10, 10)
    calibration = replace(FREE, push_s=0.02, pull_s=0.01, apply_s=0.04, exchange_s=0.07, tensor_s=0.03)
    crowded = replace(calibration, contention=0.5)
    mixed, served, reduced = strategy(on, ps("w0"), ar()), strategy(on, ps("w0"), ps("w1")), strategy(on, ar(), ar())
    # A process pushes and pulls, and updates half of what there is to update: 0.02 + 0.01 + 0.04 / 2.
    for seconds in (exact_s, fast_s):
        assert seconds(of, on, mixed, crowded) == close(seconds(of, on, mixed, calibration) + 0.5 * 0.05)
        for alone in (served, reduced):
            assert seconds(of, on, alone, crowded) == close(seconds(of, on, alone, calibration))


def test_what_each_overhead_of_a_server_adds() -> None:
    on = cluster(3)
    of = model(100)
    plain = 2 * 2 * 0.1
    for changes, added in (
        ({"push_s": 0.01}, 0.01),
        ({"pull_s": 0.01}, 0.01),
        ({"apply_s": 0.01}, 0.01),
        # The push is serialized by the replica, and three of them are received by the server.
        ({"server_s_per_byte": 1e-10}, 0.01 + 0.03),
        # Push and pull, once each way.
        ({"latency_s": 0.001}, 0.002),
        ({"step_s": 0.04}, 0.04),
        ({"link_efficiency": 0.5}, plain),
        ({"stream_bytes_per_s": 2.5e8}, plain),
    ):
        assert exact_s(of, on, strategy(on, ps("w0")), replace(FREE, **changes)) == close(plain + added), changes


def test_local_replication_pushes_and_pulls_once_for_a_node() -> None:
    on = cluster(3, replicas=4)
    of = model(10)
    assert exact_s(of, on, strategy(on, ps("w0"))) == close(2 * 8 * 0.01)
    assert exact_s(of, on, strategy(on, ps("w0", once=True))) == close(2 * 2 * 0.01)


def test_a_ring_goes_as_fast_as_its_slowest_link() -> None:
    nodes = (Node("w0", 1, 8, 8), Node("w1", 1, 8, 2), Node("w2", 1, 4, 8), Node("w3", 1, 8, 8))
    on = ClusterSpec("unequal", nodes, "virtual")
    assert exact_s(model(100), on, strategy(on, ar())) == close(4 * 2 * 3 / 4 * 0.1)


def test_a_slow_link_of_a_server_without_replicas_holds_no_ring_back() -> None:
    on = ClusterSpec("unequal", (Node("w0", 1, 8, 8), Node("w1", 1, 8, 8), Node("s0", 0, 1, 1)), "virtual")
    assert exact_s(model(100), on, strategy(on, ar())) == close(0.1)


def test_each_worker_pushes_over_its_own_link() -> None:
    # Pushes: w1 at 0.25, w2 at 0.5 of the server's GB/s, which is enough for both. Then pulls, over downlinks.
    nodes = (Node("w0", 1, 8, 8), Node("w1", 1, 2, 8), Node("w2", 1, 4, 8))
    on = ClusterSpec("unequal", nodes, "virtual")
    timeline = CostModel(model(100), on, FREE).timeline(strategy(on, ps("w0")))
    ends = {e.worker: e.end_s for e in timeline.events if e.lane == "push"}
    assert ends == {"replica 1 on w1": close(0.4), "replica 2 on w2": close(0.2)}
    assert timeline.step_time_s == close(0.4 + 0.2)


def test_when_one_transfer_ends_the_others_go_faster() -> None:
    # Two variables of 20 and 60 MB to one server: they share until 0.04 s, then the larger one has the link.
    on = cluster(2)
    timeline = CostModel(model(20, 60), on, FREE).timeline(strategy(on, ps("w0"), ps("w0")))
    pushes = {e.name: e.end_s for e in timeline.events if e.lane == "push"}
    assert pushes == {"v0": close(0.04), "v1": close(0.08)}
    pulls = {e.name: (e.start_s, e.end_s) for e in timeline.events if e.lane == "pull"}
    assert pulls == {"v0": (close(0.04), close(0.06)), "v1": (close(0.08), close(0.14))}


def test_half_the_bytes_take_half_the_time_of_a_ring() -> None:
    on = cluster(4)
    of = model(100)
    whole = exact_s(of, on, strategy(on, ar()))
    for compressor in ("fp16", "bf16", "fp16-ef"):
        assert exact_s(of, on, strategy(on, ar(0, compressor))) == close(whole / 2)
    wide = ModelSpec("wide", (Variable("v0", (25_000_000,), "float64"),), 1, compute_s=0.0)
    assert exact_s(wide, on, strategy(on, ar(0, "fp16"))) == close(whole / 2)
    assert exact_s(wide, on, strategy(on, ar(0))) == close(2 * whole)


TABLE = ModelSpec(
    "table", (Variable("v0", (1_000_000, 256), sparse=True, touched_rows=1000.0, ready=1.0),), 1, compute_s=0.01
)
"""A gigabyte of which a replica touches 1000 rows of 1 KiB in a step."""

ROWS = 1000 * 1024 / 1e9
"""Seconds that a link needs for them."""

INDICES = 1000 * 8 / 1e9


def test_rows_are_pulled_before_computing_and_pushed_after_it() -> None:
    on = cluster(3)
    timeline = CostModel(TABLE, on, FREE).timeline(strategy(on, ps("w0")))
    pulls = [(e.start_s, e.end_s) for e in timeline.events if e.lane == "pull"]
    assert pulls == [(0.0, close(2 * ROWS))] * 3
    computing = [(e.start_s, e.end_s) for e in timeline.events if e.lane == "compute"]
    assert computing == [(close(2 * ROWS), close(2 * ROWS + 0.01))] * 3
    assert timeline.step_time_s == close(2 * ROWS + 0.01 + 2 * (ROWS + INDICES))


def test_gathered_rows_go_around_as_often_as_there_are_other_replicas() -> None:
    on = cluster(4)
    assert exact_s(TABLE, on, strategy(on, AllReduce(0))) == close(0.01 + 3 * (ROWS + INDICES))


def test_a_densified_gradient_is_all_of_the_table() -> None:
    on = cluster(4)
    dense = Strategy((VariableStrategy("v0", (AllReduce(0, sparse_as="dense"),)),), 4)
    assert exact_s(TABLE, on, dense) == close(0.01 + 2 * 3 / 4 * TABLE.nbytes / 1e9)


def test_local_replication_merges_no_rows() -> None:
    on = cluster(2, replicas=2)
    once, each = (Strategy((VariableStrategy("v0", (ParameterServer("w0", r),)),), 4) for r in (True, False))
    assert exact_s(TABLE, on, once) == exact_s(TABLE, on, each)


def test_servers_and_collectives_share_the_links() -> None:
    # 100 MB each by a ring of 2 and to the server on w0: the ring crosses both ways, pushes only one. From w1 up both
    # share until one is through; the pull then meets nobody.
    on = cluster(2)
    both = exact_s(model(100, 100), on, strategy(on, ps("w0"), ar(0)))
    assert both == close(0.2 + 0.1)
