"""`autosync-lab bench`."""

import argparse
import time
from typing import Any

from autosync_lab.cli.arguments import whole
from autosync_lab.cli.output import print_json, print_table

SUMMARY = "How fast strategies are sampled, checked, scored and simulated on this machine (one core)."

CASES = (
    ("ncf", "cluster-a"),
    ("ncf", "cluster-b"),
    ("vgg16", "cluster-a"),
    ("vgg16", "cluster-b"),
    ("bert-large", "cluster-a"),
    ("bert-large", "cluster-b"),
    ("resnet101", "cluster-a"),
    ("resnet101", "cluster-b"),
)

LARGE_NODES = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("--candidates", type=whole(1), default=2000, help="strategies in a batch (%(default)s)")
    parser.add_argument("--repeat", type=whole(1), default=3, help="batches; the median counts (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    throughput = [_throughput(m, c, arguments.candidates, arguments.repeat) for m, c in CASES]
    timelines = [
        _timeline("bert-large", builder, nodes, arguments.repeat)
        for nodes in (0, LARGE_NODES)
        for builder in ("ps-load-balanced", "partitioned-ps", "all-reduce", "byteps")
    ]
    if arguments.json:
        print_json({"throughput": throughput, "timelines": timelines})
        return 0
    print_table(
        ("model", "cluster", "space", "strategies/s", "shards each", "MB for the batch"),
        [
            (
                r["model"],
                r["cluster"],
                r["space"],
                f"{r['strategies_per_s']:,.0f}",
                f"{r['shards']:.0f}",
                f"{r['batch_mb']:.1f}",
            )
            for row in throughput
            for r in row
        ],
        title=f"Sampled, checked and scored: batches of {arguments.candidates}, up to 40 shards a variable",
    )
    print_table(
        ("model", "cluster", "strategy", "shards", "milliseconds"),
        [(r["model"], r["cluster"], r["strategy"], str(r["shards"]), f"{r['seconds'] * 1e3:.1f}") for r in timelines],
        title="One step's timeline, with its events",
    )
    return 0


def _throughput(model_name: str, cluster_name: str, count: int, repeat: int) -> list[dict[str, Any]]:
    import statistics

    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.simulator import CostModel
    from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace

    model, cluster = load_model(model_name), load_cluster(cluster_name)
    valid, cost = StrategySpace(model, cluster), CostModel(model, cluster)
    rows: list[dict[str, Any]] = []
    for name, space in (("all valid", valid), ("default constraints", valid.constrain(DEFAULT_CONSTRAINTS))):
        cost.step_time(space.sample(10, 0))
        seconds = []
        for seed in range(repeat):
            begin = time.perf_counter()
            batch = space.sample(count, seed)
            assert space.check(batch).all()
            cost.step_time(batch)
            seconds.append(time.perf_counter() - begin)
        rows.append(
            {
                "model": model_name,
                "cluster": cluster_name,
                "space": name,
                "strategies_per_s": count / statistics.median(seconds),
                "shards": len(batch.destination) / count,
                "batch_mb": batch.nbytes / 1e6,
            }
        )
    return rows


def _timeline(model_name: str, builder: str, nodes: int, repeat: int) -> dict[str, Any]:
    """One step on cluster-b, or on as many nodes like those of cluster-a."""
    import statistics

    from autosync_lab.cluster import ClusterSpec, Node, load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.simulator import CostModel
    from autosync_lab.strategy import build_strategy

    cluster = load_cluster("cluster-b")
    if nodes:
        like = load_cluster("cluster-a").nodes[0]
        hosts = tuple(
            Node(f"node{i}", like.replicas, like.up_gbps, like.down_gbps, like.latency_s) for i in range(nodes)
        )
        cluster = ClusterSpec(f"{nodes} nodes", hosts, launcher="virtual")
    model = load_model(model_name)
    cost, strategy = CostModel(model, cluster), build_strategy(builder, model, cluster)
    cost.timeline(strategy)
    seconds = []
    for _ in range(repeat):
        begin = time.perf_counter()
        cost.timeline(strategy)
        seconds.append(time.perf_counter() - begin)
    return {
        "model": model_name,
        "cluster": cluster.name,
        "strategy": builder,
        "shards": sum(len(v.shards) for v in strategy.variables),
        "seconds": statistics.median(seconds),
    }
