"""Which nodes serve, and what goes where."""

from collections.abc import Sequence

import numpy as np

from autosync_lab.cluster.spec import ClusterSpec, Node


def server_nodes(cluster: ClusterSpec) -> tuple[Node, ...]:
    """Nodes that own shards: the CPU-only servers where the cluster has some, else every node."""
    dedicated = tuple(n for n in cluster.nodes if not n.replicas)
    return dedicated or cluster.nodes


def first_server(cluster: ClusterSpec) -> Node:
    """The node that owns everything: the first CPU-only server, else the chief."""
    servers = server_nodes(cluster)
    return next((n for n in servers if n.chief), servers[0])


def balanced(nbytes: Sequence[float], servers: int) -> list[int]:
    """Server of each shard: largest first, each to the server with the least so far (ties to the lower number)."""
    load = np.zeros(servers)
    placed = [0] * len(nbytes)
    for i in sorted(range(len(nbytes)), key=lambda i: (-nbytes[i], i)):
        placed[i] = int(np.argmin(load))
        load[placed[i]] += nbytes[i]
    return placed
