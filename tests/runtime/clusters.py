"""Small clusters for runtime tests."""

from autosync_lab.cluster.spec import ClusterSpec, Node


def fast_cluster(nodes: int = 2, replicas: int = 2, servers: int = 1, **node: object) -> ClusterSpec:
    """Emulated nodes on links that nothing limits."""
    workers = tuple(Node(f"node{i}", replicas, **node) for i in range(nodes))  # type: ignore[arg-type]
    return ClusterSpec("fast", workers + tuple(Node(f"server{i}", 0) for i in range(servers)), "emulated")


def slow_cluster(nodes: int, gbps: float, servers: tuple[float, ...] = (), replicas: int = 1) -> ClusterSpec:
    """Emulated nodes on limited links."""
    workers = tuple(Node(f"node{i}", replicas, gbps, gbps) for i in range(nodes))
    dedicated = tuple(Node(f"server{i}", 0, g, g) for i, g in enumerate(servers))
    return ClusterSpec("slow", workers + dedicated, "emulated")
