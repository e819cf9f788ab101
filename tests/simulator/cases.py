"""Clusters, models and strategies whose step times can be worked out by hand.

Links carry 1 GB/s (8 Gbit/s), so a megabyte takes a millisecond.
"""

from autosync_lab.cluster import ClusterSpec, Node
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.simulator import Calibration, CostModel
from autosync_lab.space import StrategyBatch
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, Synchronizer, VariableStrategy

B = 1e9
"""Bytes per second of a link of 8 Gbit/s."""

FREE = Calibration(
    link_efficiency=1.0,
    stream_bytes_per_s=1e15,
    latency_s=0.0,
    flops_per_s=1e12,
    compute_slowdown=1.0,
    push_s=0.0,
    pull_s=0.0,
    apply_s=0.0,
    server_s_per_byte=0.0,
    rows_s=0.0,
    acknowledge_s=0.0,
    collective_s=0.0,
    exchange_s=0.0,
    tensor_s=0.0,
    reduce_s_per_byte=0.0,
    window_nbytes=0.0,
    fp16_s_per_byte=0.0,
    bf16_s_per_byte=0.0,
    feedback_s_per_byte=0.0,
    cycle_s=0.0,
    contention=0.0,
    step_s=0.0,
)
"""Only bytes on links and computing take time."""


def cluster(workers: int, servers: int = 0, *, replicas: int = 1, gbps: float = 8.0) -> ClusterSpec:
    """Workers w0, w1, ... and servers s0, s1, ... on equal links."""
    nodes = [Node(f"w{i}", replicas, gbps, gbps) for i in range(workers)]
    return ClusterSpec("worked-out", (*nodes, *(Node(f"s{i}", 0, gbps, gbps) for i in range(servers))), "virtual")


def model(*megabytes: float, compute_s: float = 0.0, ready: tuple[float, ...] = ()) -> ModelSpec:
    """Dense variables v0, v1, ... of so many megabytes; all gradients are ready when all is computed, or as said."""
    shares = ready or (1.0,) * len(megabytes)
    variables = [
        Variable(f"v{i}", (round(m * 250_000),), ready=r)
        for i, (m, r) in enumerate(zip(megabytes, shares, strict=True))
    ]
    return ModelSpec("worked-out", tuple(variables), 1, compute_s=compute_s)


def strategy(on: ClusterSpec, *shards: Synchronizer | tuple[Synchronizer, ...], push_credit: int = 0) -> Strategy:
    """One synchronizer, or the shards along axis 0, for each of v0, v1, ..."""
    entries = []
    for i, given in enumerate(shards):
        many = given if isinstance(given, tuple) else (given,)
        entries.append(VariableStrategy(f"v{i}", many, 0 if len(many) > 1 else None))
    return Strategy(tuple(entries), on.replicas, push_credit=push_credit)


def ps(node: str, *, once: bool = False) -> ParameterServer:
    """A shard on a node's server."""
    return ParameterServer(node, once)


def ar(group: int | None = None, compressor: str = "none") -> AllReduce:
    """A shard that is all-reduced."""
    return AllReduce(group, compressor)


def exact_s(of: ModelSpec, on: ClusterSpec, how: Strategy, calibration: Calibration = FREE) -> float:
    """The timeline's step time."""
    return CostModel(of, on, calibration).timeline(how).step_time_s


def fast_s(of: ModelSpec, on: ClusterSpec, how: Strategy, calibration: Calibration = FREE) -> float:
    """The step time that whole batches are scored with."""
    return float(CostModel(of, on, calibration).step_time(StrategyBatch.encode([how], of, on))[0])
