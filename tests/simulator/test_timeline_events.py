"""What happens in a simulated step, as the runtime would have traced it; and clusters of a thousand nodes."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.model import ModelSpec, load_model
from autosync_lab.simulator import CostModel, Timeline, VirtualRunner, timeline
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.strategy import ParameterServer, Strategy, build_strategy
from autosync_lab.study.chrome_trace import chrome_trace
from tests.simulator.cases import FREE, ar, cluster, model, ps, strategy
from tests.strategies import random_strategy

LANES = {"compute", "push", "pull", "all-reduce", "apply"}
"""The lanes of `autosync_lab.runtime.engine.step_trace`."""

CLUSTER = ClusterSpec("mixed", (Node("a", 2, 1, 1), Node("b", 1, 1, 1), Node("c", 3, 1, 1), Node("d", 0, 2, 2)))


def names_of_processes(on: ClusterSpec) -> set[str]:
    """As `autosync_lab.runtime.pool.WorkerPool.name` calls them."""
    replicas = {f"replica {rank} on {on.nodes[node].name}" for rank, node in enumerate(on.replica_nodes)}
    return replicas | {f"server on {node.name}" for node in on.nodes if not node.replicas}


def random_steps() -> list[tuple[ModelSpec, Strategy, Timeline]]:
    found = []
    for name in ("bert-tiny", "ncf-small"):
        of = load_model(name)
        cost = CostModel(of, CLUSTER)
        for seed in range(6):
            how = random_strategy(of, CLUSTER, np.random.default_rng(seed), lossy=True)
            found.append((of, how, cost.timeline(how)))
    return found


STEPS = random_steps()


@pytest.mark.parametrize("step", STEPS)
def test_events_are_those_of_the_runtime(step: tuple[ModelSpec, Strategy, Timeline]) -> None:
    _, _, played = step
    assert played.events
    assert {e.lane for e in played.events} <= LANES
    assert {e.worker for e in played.events} <= names_of_processes(CLUSTER)
    for event in played.events:
        assert 0.0 <= event.start_s <= event.end_s <= played.step_time_s
    assert list(played.events) == sorted(played.events, key=lambda e: (e.start_s, e.end_s, e.worker, e.lane, e.name))


@pytest.mark.parametrize("step", STEPS)
def test_each_pusher_pushes_each_shard_once(step: tuple[ModelSpec, Strategy, Timeline]) -> None:
    of, how, played = step
    expected: Counter[tuple[str, str]] = Counter()
    updates: Counter[str] = Counter()
    for variable, entry in zip(of.variables, how.variables, strict=True):
        for i, shard in enumerate(entry.shards):
            if not isinstance(shard, ParameterServer):
                continue
            name = f"{variable.name}>shard{i}" if entry.axis is not None else variable.name
            updates[name] += 1
            seen = set()
            for rank, node in enumerate(CLUSTER.replica_nodes):
                host = CLUSTER.nodes[node].name
                first = node not in seen
                seen.add(node)
                if host != shard.destination and (first or variable.sparse or not shard.local_replication):
                    expected[f"replica {rank} on {host}", name] += 1
    assert Counter((e.worker, e.name) for e in played.events if e.lane == "push") == expected
    assert Counter(e.name for e in played.events if e.lane == "apply") == updates
    owners = {e.worker.split(" on ")[1] for e in played.events if e.lane == "apply"}
    assert owners <= {s.destination for v in how.variables for s in v.shards if isinstance(s, ParameterServer)}


@pytest.mark.parametrize("step", STEPS)
def test_a_shard_is_applied_after_all_pushes_and_pulled_after_that(step: tuple[ModelSpec, Strategy, Timeline]) -> None:
    of, _, played = step
    rows = {v.name for v in of.variables if v.sparse}
    applied = {e.name: e for e in played.events if e.lane == "apply"}
    for event in played.events:
        if event.lane == "push":
            assert event.end_s <= applied[event.name].start_s
        if event.lane == "pull" and event.name.split(">")[0] not in rows:
            assert event.start_s >= applied[event.name].end_s


def test_a_server_applies_one_shard_at_a_time() -> None:
    for _, _, played in STEPS:
        for worker in {e.worker for e in played.events if e.lane == "apply"}:
            spans = sorted((e.start_s, e.end_s) for e in played.events if e.lane == "apply" and e.worker == worker)
            for (_, end), (start, _) in pairwise(spans):
                assert start >= end - 1e-12


def test_collectives_are_named_by_their_group_or_their_shard() -> None:
    on = cluster(2)
    of = model(1, 1, 1)
    named = CostModel(of, on, FREE).timeline(strategy(on, ar(0), ar(), ar(0)))
    assert {e.name for e in named.events if e.lane == "all-reduce"} == {"group0", "v1"}
    loose = CostModel(of, on, FREE).timeline(strategy(on, ar(), (ar(), ar()), ar()))
    assert {e.name for e in loose.events if e.lane == "all-reduce"} == {"v0", "v1>shard0", "v1>shard1", "v2"}


def test_every_replica_computes() -> None:
    for _, _, played in STEPS:
        computing = [e for e in played.events if e.lane == "compute"]
        assert len(computing) == CLUSTER.replicas
        assert {e.worker for e in computing} == {n for n in names_of_processes(CLUSTER) if n.startswith("replica")}


def test_the_same_step_again_is_the_same() -> None:
    for of, how, played in STEPS[:3]:
        assert CostModel(of, CLUSTER).timeline(how) == played


def test_a_chrome_trace_takes_them() -> None:
    of = load_model("bert-tiny")
    how = build_strategy("parallax", of, CLUSTER)
    with VirtualRunner(CLUSTER) as runner:
        trial = runner.measure(of, how, trace=True)
        assert runner.measure(of, how).events == ()
    document = json.loads(json.dumps(chrome_trace([trial])))
    bars = [e for e in document["traceEvents"] if e["ph"] == "X"]
    assert len(bars) == len(trial.events)
    names = [e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"]
    assert all("(simulated)" in name for name in names)
    assert max(e["ts"] + e["dur"] for e in bars) <= trial.step_time_s * 1e6 * (1 + 1e-9)


def uneven(nodes: int, servers: int) -> ClusterSpec:
    """Two kinds of workers, and servers."""
    workers = [Node(f"n{i}", 1 + i % 2, 10.0, 10.0) for i in range(nodes)]
    return ClusterSpec("many", (*workers, *(Node(f"s{i}", 0, 20.0, 20.0) for i in range(servers))), "virtual")


@pytest.mark.parametrize("name", ["vgg16", "bert-tiny", "ncf-small"])
def test_alike_nodes_together_take_about_what_they_take_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = load_model(name)
    on = uneven(10, 2)
    some = [build_strategy(n, of, on) for n in ("ps", "partitioned-ps", "byteps", "all-reduce", "parallax")]
    some += list(StrategySpace(of, on).constrain(DEFAULT_CONSTRAINTS).sample(6, 2))
    exact = np.asarray([CostModel(of, on).timeline(s).step_time_s for s in some])
    monkeypatch.setattr(timeline, "NODES_ONE_BY_ONE", 4)
    steps = [CostModel(of, on).timeline(s) for s in some]
    together = np.asarray([s.step_time_s for s in steps])
    # A pool of alike links is never too narrow for one of them alone: uneven placements look a little too fast.
    error = np.abs(together / exact - 1)
    assert np.median(error) < 0.03
    assert error.max() < 0.15
    assert error[[0, 3]].max() < 0.005
    # One worker of each kind, and the servers.
    shown = {e.worker for s in steps for e in s.events if e.lane == "compute"}
    assert shown == {"replica 0 on n0", "replica 1 on n1"}


def test_a_thousand_nodes() -> None:
    of = replace(load_model("resnet50"), compute_s=0.2)
    on = ClusterSpec("thousand", tuple(Node(f"n{i}", 1, 10.0, 10.0) for i in range(1000)), "virtual")
    ring = CostModel(of, on, FREE).timeline(build_strategy("all-reduce", of, on))
    assert ring.step_time_s >= 2 * 999 / 1000 * of.nbytes / 1.25e9
    for name in ("partitioned-ps", "ps-load-balanced"):
        how = build_strategy(name, of, on)
        played = CostModel(of, on).timeline(how)
        assert played.events
        assert all(0.0 <= e.start_s <= e.end_s <= played.step_time_s for e in played.events)


def test_the_preset_of_the_paper_is_played_node_by_node() -> None:
    on = load_cluster("cluster-a")
    played = CostModel(load_model("vgg-mini"), on).timeline(build_strategy("ps", load_model("vgg-mini"), on))
    assert len({e.worker for e in played.events if e.lane == "compute"}) == on.replicas == 11


def test_a_single_server_receives_all_there_is() -> None:
    on = cluster(3, 1)
    played = CostModel(model(30), on, FREE).timeline(strategy(on, ps("s0")))
    assert {e.worker for e in played.events if e.lane == "apply"} == {"server on s0"}
    assert played.step_time_s == pytest.approx(2 * 3 * 0.03)
