"""`autosync-lab clusters [NAME|FILE]`."""

import argparse
import math
from typing import TYPE_CHECKING, Any

from autosync_lab.cli.output import print_json, print_table, seconds

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec

SUMMARY = "List the cluster presets, or one cluster's nodes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("name", metavar="NAME|FILE", nargs="?", help="a preset's name or a YAML file: list its nodes")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import cluster_names, load_cluster

    if arguments.name is not None:
        _one(load_cluster(arguments.name), arguments.json)
        return 0
    clusters = [load_cluster(name) for name in cluster_names()]
    if arguments.json:
        print_json({"clusters": [_totals(cluster) for cluster in clusters]})
        return 0
    print_table(
        ("cluster", "launcher", "nodes", "replicas", "servers only", "slowest link", "fastest link"),
        [
            (
                c.name,
                c.launcher,
                str(len(c.nodes)),
                str(c.replicas),
                str(sum(n.replicas == 0 for n in c.nodes)),
                _gbps(min(min(n.up_gbps, n.down_gbps) for n in c.nodes)),
                _gbps(max(max(n.up_gbps, n.down_gbps) for n in c.nodes)),
            )
            for c in clusters
        ],
        left=2,
    )
    return 0


def _one(cluster: "ClusterSpec", as_json: bool) -> None:
    if as_json:
        print_json(_totals(cluster) | {"per_node": [node.to_json() for node in cluster.nodes]})
        return
    print_table(
        ("node", "replicas", "GPUs", "up", "down", "latency", "memory"),
        [
            (
                node.name + (" (chief)" if node.chief else ""),
                str(node.replicas),
                ",".join(map(str, node.gpus)),
                _gbps(node.up_gbps),
                _gbps(node.down_gbps),
                seconds(node.latency_s) if node.latency_s else "",
                f"{node.memory_gib:g} GiB" if node.memory_gib is not None else "",
            )
            for node in cluster.nodes
        ],
        title=f"{cluster.name}: {len(cluster.nodes)} nodes, {cluster.replicas} replicas, launcher {cluster.launcher}",
    )


def _totals(cluster: "ClusterSpec") -> dict[str, Any]:
    return {
        "name": cluster.name,
        "launcher": cluster.launcher,
        "nodes": len(cluster.nodes),
        "replicas": cluster.replicas,
        "servers_only": sum(n.replicas == 0 for n in cluster.nodes),
        "hash": cluster.hash,
    }


def _gbps(rate: float) -> str:
    if math.isinf(rate):
        return "unlimited"
    return f"{rate:g} Gbit/s" if rate >= 1 else f"{rate * 1e3:g} Mbit/s"
