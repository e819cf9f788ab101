"""Predefined features: what servers and collectives cost by simple sums, {max, sum} of three kinds of cost over both.

Source: Zhang et al., NeurIPS 2020, who have transmission, network overhead and latency of parameter servers and
all-reduce groups. Theirs leave out the ring's 2 (R - 1) / R and what compression costs; these have both, and are in
units of the pair's own time, so they mean the same for every model and cluster. Shapes as in `loads`.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.features.loads import Loads
from autosync_lab.space.arrays import ClusterArrays
from autosync_lab.space.batch import StrategyBatch

COSTS = ("transmission", "overhead", "work")
"""Bytes over links; messages and latency; what processes do for each shard and byte."""

PREDEFINED_FEATURES = tuple(
    f"{how} over {what}: {cost}" for what in ("servers", "collectives") for cost in COSTS for how in ("max", "sum")
)
"""Names of a strategy's features, in order."""


@lru_cache(maxsize=64)
def pair_scale_s(cost_model: CostModel) -> float:
    """The unit of time of a model on a cluster, seconds: computing, then the least time that the links need."""
    links_s = bandwidth_bound(cost_model.model, cost_model.cluster, lossless=True)
    return max(cost_model.compute_s + links_s + cost_model.calibration.step_s, 1e-9)


def server_costs(
    batch: StrategyBatch, cost_model: CostModel, loads: Loads
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Seconds of every server and every collective, [n * N, 3] and [K, 3], by `COSTS`."""
    c, nodes = cost_model.calibration, ClusterArrays.of(batch.cluster)
    up, down = cost_model.link_bytes_per_s
    count, world = len(nodes.up), int(nodes.replicas.sum())
    owner = np.where(loads.served, batch.destination, 0)
    # Replicas that push over the owner's link: those of other nodes, or one for each of these nodes.
    away = np.where(
        batch.local_replication & ~loads.rows,
        np.count_nonzero(nodes.replicas) - (nodes.replicas > 0)[owner],
        world - nodes.replicas[owner],
    )
    servers = len(batch) * count
    came, went = (loads.per_server(b * away, servers) for b in (loads.push_nbytes, loads.pull_nbytes))
    down_s, up_s = np.tile(down, len(batch)), np.tile(up, len(batch))
    shards = loads.per_server(np.ones(len(away)), servers)
    received = loads.per_server(loads.push_nbytes * world, servers)
    of_servers = np.column_stack(
        [
            came / down_s + went / up_s,
            shards * (c.push_s + c.pull_s) + (shards > 0) * 2.0 * (c.latency_s + nodes.latency_s.max()),
            shards * c.apply_s + received * c.server_s_per_byte + loads.per_server(loads.rows, servers) * c.rows_s,
        ]
    )
    ring = 2.0 * (world - 1) / world
    wire = np.where(loads.rows, loads.push_nbytes * (world - 1), loads.push_nbytes * ring)
    raw = np.where(loads.rows, loads.push_nbytes * world, loads.wide_nbytes)
    tensors = loads.per_collective(np.ones(len(away)))
    used = tensors > 0
    rounds = 2 * (world - 1) * (c.latency_s + nodes.latency_s.max())
    of_collectives = np.column_stack(
        [
            loads.per_collective(wire) / cost_model.ring_bytes_per_s,
            used * (c.collective_s + c.exchange_s + rounds) + tensors * c.tensor_s,
            loads.per_collective(raw * cost_model.reduce_s_per_byte[batch.compressor]),
        ]
    )
    return of_servers, of_collectives


def predefined_features(
    batch: StrategyBatch, cost_model: CostModel, loads: Loads
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float32]]:
    """Features of strategies and of shards, in units of `pair_scale_s`.

    Returns
    -------
    of_strategies : float64 [n, 12]
        As `PREDEFINED_FEATURES`.
    of_shards : float32 [S, 3]
        What the shard's server or collective costs in all, by `COSTS`.
    """
    unit = pair_scale_s(cost_model)
    of_servers, of_collectives = (costs / unit for costs in server_costs(batch, cost_model, loads))
    by_server = of_servers.reshape(len(batch), -1, len(COSTS))
    begin = loads.first_collective[:-1]
    pooled = np.stack(
        [
            by_server.max(axis=1),
            by_server.sum(axis=1),
            np.maximum.reduceat(of_collectives, begin, axis=0),
            np.add.reduceat(of_collectives, begin, axis=0),
        ],
        axis=1,
    )
    of_strategies = pooled.reshape(len(batch), 2, 2, len(COSTS)).swapaxes(2, 3).reshape(len(batch), -1)
    of_shards = np.where(loads.served[:, None], of_servers[loads.server], of_collectives[loads.collective])
    return of_strategies, of_shards.astype(np.float32)
