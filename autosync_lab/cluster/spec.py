"""`ClusterSpec`: nodes with their links, and how processes are started on them."""

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from autosync_lab.content_hash import content_hash
from autosync_lab.errors import InvalidCluster

LAUNCHERS = ("local", "emulated", "ssh", "mpi", "slurm", "ray", "virtual")

LAUNCHER_OPTIONS: dict[str, tuple[str, ...]] = {"emulated": ("queue_bytes", "congestion_control")}
"""Options of each launcher that has some."""

CONGESTION_CONTROLS = ("reno", "cubic", "bbr")

MAX_REPLICAS = 1024
"""Replicas of one node. More is a slip of the pen, and each is a process."""

_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_:.%-]*")
"""Names and addresses of hosts. They end up in hosts files and in command lines, so no blank, and no dash in front."""


@dataclass(frozen=True)
class Node:
    """One host of a cluster.

    Parameters
    ----------
    name : str
        Unique in its cluster; the host's address where it has one. Letters, digits and `_ : . % -`.
    replicas : int
        Worker processes on this node; 0 for a CPU-only server node that only owns parameter-server shards.
    up_gbps, down_gbps : float
        Bandwidth of its link, Gbit/s, each way (full duplex); infinity where no link limits it.
    latency_s : float
        One-way latency of its link, seconds.
    gpus : tuple of int
        GPU indices; replicas run on them in order.
    chief : bool
        True for the node that leads the training.
    ssh : str, optional
        Name of the ssh group (`ClusterSpec.ssh`) that reaches it.
    memory_gib : float, optional
        Memory that one process on this node may use.
    """

    name: str
    replicas: int = 1
    up_gbps: float = math.inf
    down_gbps: float = math.inf
    latency_s: float = 0.0
    gpus: tuple[int, ...] = ()
    chief: bool = False
    ssh: str | None = None
    memory_gib: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", tuple(self.gpus))
        where = f"node {self.name!r}"
        if not self.name:
            raise InvalidCluster("a node needs a name", received=self.name)
        if not _HOST.fullmatch(self.name):
            raise InvalidCluster(
                "a node's name is that of a host, or its address: letters, digits and _ : . % -", received=self.name
            )
        if not 0 <= self.replicas <= MAX_REPLICAS:
            raise InvalidCluster(f"a node has 0 to {MAX_REPLICAS} replicas", where=where, received=self.replicas)
        for way in ("up_gbps", "down_gbps"):
            if not getattr(self, way) > 0:
                raise InvalidCluster(f"{way} is above 0", where=where, received=getattr(self, way))
        if not 0 <= self.latency_s < math.inf:
            raise InvalidCluster("latency_s is 0 or more seconds", where=where, received=self.latency_s)
        if self.memory_gib is not None and not self.memory_gib > 0:
            raise InvalidCluster("memory_gib is above 0", where=where, received=self.memory_gib)

    @property
    def up_bytes_per_s(self) -> float:
        """Bytes per second that the node can send."""
        return self.up_gbps * 1e9 / 8

    @property
    def down_bytes_per_s(self) -> float:
        """Bytes per second that the node can receive."""
        return self.down_gbps * 1e9 / 8

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document; an unlimited link is null."""
        return {
            "name": self.name,
            "replicas": self.replicas,
            "up_gbps": None if math.isinf(self.up_gbps) else self.up_gbps,
            "down_gbps": None if math.isinf(self.down_gbps) else self.down_gbps,
            "latency_s": self.latency_s,
            "gpus": list(self.gpus),
            "chief": self.chief,
            "ssh": self.ssh,
            "memory_gib": self.memory_gib,
        }


@dataclass(frozen=True)
class ClusterSpec:
    """Nodes, and how processes are started on them.

    Parameters
    ----------
    name : str
    nodes : tuple of Node
        In the order of their ranks. If none is the chief, the first one becomes it.
    launcher : str
        One of `LAUNCHERS`.
    launcher_options : dict
        Options of that launcher: `LAUNCHER_OPTIONS`.
    ssh : dict of str to dict
        ssh groups by name: username, port, key_file, python_venv, shared_envs.

    Raises
    ------
    InvalidCluster
        If a rule is broken; the message names the node.
    """

    name: str
    nodes: tuple[Node, ...]
    launcher: str = "local"
    launcher_options: dict[str, Any] = field(default_factory=dict)
    ssh: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(self.nodes))
        where = f"cluster {self.name!r}"
        if not self.name:
            raise InvalidCluster("a cluster needs a name", received=self.name)
        if not self.name.isprintable():
            raise InvalidCluster("a cluster's name can be printed", received=self.name)
        if not self.nodes:
            raise InvalidCluster("a cluster has at least one node", where=where)
        if self.launcher not in LAUNCHERS:
            raise InvalidCluster("unknown launcher", where=where, received=self.launcher, valid=LAUNCHERS)
        _check_options(self.launcher_options, self.launcher, where)
        seen: set[str] = set()
        for node in self.nodes:
            if node.name in seen:
                raise InvalidCluster("two nodes have one name", where=where, received=node.name)
            seen.add(node.name)
            if node.ssh is not None and node.ssh not in self.ssh:
                raise InvalidCluster(
                    "unknown ssh group", where=f"node {node.name!r}", received=node.ssh, valid=sorted(self.ssh)
                )
        if not any(n.replicas for n in self.nodes):
            raise InvalidCluster("at least one node has a replica", where=where)
        if sum(n.chief for n in self.nodes) > 1:
            raise InvalidCluster("one node is the chief", where=where, received=[n.name for n in self.nodes if n.chief])
        if not any(n.chief for n in self.nodes):
            object.__setattr__(self, "nodes", (replace(self.nodes[0], chief=True), *self.nodes[1:]))

    @cached_property
    def replica_nodes(self) -> tuple[int, ...]:
        """Node index of each replica, by rank; replicas of one node have consecutive ranks."""
        return tuple(i for i, node in enumerate(self.nodes) for _ in range(node.replicas))

    @property
    def replicas(self) -> int:
        """Number of replicas."""
        return len(self.replica_nodes)

    @property
    def worker_nodes(self) -> tuple[Node, ...]:
        """Nodes with at least one replica."""
        return tuple(n for n in self.nodes if n.replicas)

    def node_index(self, name: str) -> int:
        """Index of the node called `name`.

        Raises
        ------
        InvalidCluster
            If there is none.
        """
        for index, node in enumerate(self.nodes):
            if node.name == name:
                return index
        raise InvalidCluster(
            "unknown node", where=f"cluster {self.name!r}", received=name, valid=[n.name for n in self.nodes]
        )

    @cached_property
    def hash(self) -> str:
        """Content hash of nodes and launcher: what decides what a trial measures."""
        return content_hash(
            {
                "nodes": [n.to_json() for n in self.nodes],
                "launcher": self.launcher,
                "launcher_options": self.launcher_options,
            }
        )

    def __hash__(self) -> int:
        return hash(self.hash)


def _check_options(options: Any, launcher: str, where: str) -> None:
    at = f"{where}: options"
    if not isinstance(options, dict):
        raise InvalidCluster("the options of a launcher are a map", where=at, received=options)
    known = LAUNCHER_OPTIONS.get(launcher, ())
    for name in options:
        if name not in known:
            raise InvalidCluster(f"unknown option of the launcher {launcher!r}", where=at, received=name, valid=known)
    queue = options.get("queue_bytes", 1)
    if isinstance(queue, bool) or not isinstance(queue, int) or queue < 1:
        raise InvalidCluster("`queue_bytes` is a whole number above 0", where=at, received=queue)
    control = options.get("congestion_control", CONGESTION_CONTROLS[0])
    if control not in CONGESTION_CONTROLS:
        raise InvalidCluster("unknown congestion control", where=at, received=control, valid=CONGESTION_CONTROLS)
