"""Where one process stands in a running cluster."""

from dataclasses import asdict, dataclass
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec

JOB = "process"
"""TensorFlow's job name of every process: replicas and CPU-only servers alike."""


@dataclass(frozen=True)
class Place:
    """One process of a running cluster.

    Processes are numbered node by node: each replica is one, and so is each CPU-only server node.

    Parameters
    ----------
    index : int
        Number of the process.
    nodes : tuple of str
        Node names.
    node_of_process : tuple of int
        Node index of each process.
    rank_of_process : tuple of (int or None)
        Rank of each process's replica.
    """

    index: int
    nodes: tuple[str, ...]
    node_of_process: tuple[int, ...]
    rank_of_process: tuple[int | None, ...]

    @property
    def node(self) -> int:
        """Index of this process's node."""
        return self.node_of_process[self.index]

    @property
    def rank(self) -> int | None:
        """Rank of this process's replica; None for the server of a CPU-only node."""
        return self.rank_of_process[self.index]

    @property
    def replicas(self) -> int:
        """Replicas in the cluster."""
        return sum(r is not None for r in self.rank_of_process)

    @property
    def worker_nodes(self) -> tuple[int, ...]:
        """Indices of the nodes with replicas."""
        pairs = zip(self.node_of_process, self.rank_of_process, strict=True)
        return tuple(sorted({node for node, rank in pairs if rank is not None}))

    def device(self, process: int) -> str:
        """TensorFlow device of a process."""
        return f"/job:{JOB}/task:{process}/device:CPU:0"

    @property
    def here(self) -> str:
        """TensorFlow device of this process."""
        return self.device(self.index)

    def first_process(self, node: int) -> int:
        """The process that serves a node's parameter-server shards and leads its local replication."""
        return self.node_of_process.index(node)

    def processes_on(self, node: int) -> int:
        """Number of processes on a node."""
        return self.node_of_process.count(node)

    @property
    def is_leader(self) -> bool:
        """True for the first process of its node."""
        return self.first_process(self.node) == self.index

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Place":
        """Inverse of `to_json`."""
        return cls(
            index=document["index"],
            nodes=tuple(document["nodes"]),
            node_of_process=tuple(document["node_of_process"]),
            rank_of_process=tuple(document["rank_of_process"]),
        )


def places_of(cluster: ClusterSpec) -> tuple[Place, ...]:
    """The processes of a cluster, in order."""
    node_of_process: list[int] = []
    rank_of_process: list[int | None] = []
    for index, node in enumerate(cluster.nodes):
        first_rank = sum(n.replicas for n in cluster.nodes[:index])
        node_of_process += [index] * max(1, node.replicas)
        rank_of_process += range(first_rank, first_rank + node.replicas) if node.replicas else [None]
    names = tuple(n.name for n in cluster.nodes)
    return tuple(
        Place(index, names, tuple(node_of_process), tuple(rank_of_process)) for index in range(len(node_of_process))
    )
