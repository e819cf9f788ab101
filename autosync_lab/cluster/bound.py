"""The bandwidth bound: no strategy of the same semantics can be faster, whatever it does."""

import math
from typing import TYPE_CHECKING

from autosync_lab.cluster.spec import ClusterSpec

if TYPE_CHECKING:
    from autosync_lab.model.spec import ModelSpec

NARROWEST_BYTES = 2
"""Bytes of one element in the narrowest wire format that a compressor makes (fp16, bf16)."""


def bandwidth_bound(model: "ModelSpec", cluster: ClusterSpec, *, lossless: bool = True) -> float:
    """Least seconds that the links need for one synchronous step, were bandwidth all that counts.

    Let n nodes have replicas and M be the bytes of one replica's gradient (only touched rows of sparse variables, without
    their indices). Let c_i be the smaller of node i's two bandwidths. A parameter server makes its node send as much as
    it receives: where node i owns the share x_i of M, with every transfer done once per node (local replication),

    - a node with replicas sends its gradient of what others own, M (1 - x_i), and gives what it owns to the n - 1 other
      nodes with replicas, (n - 1) M x_i: together M (1 + (n - 2) x_i);
    - a CPU-only server sends n M x_i.

    So with s = T / M the step takes T only if x_i <= (c_i s - 1) / (n - 2) on nodes with replicas, which also says
    T >= M / c_i, and x_i <= c_i s / n on servers; and never x_i > 1. The shares sum to 1, so the bound is the least T for
    which these caps sum to at least 1. Without the caps at 1 that is

        T = max( M / min c_w,  2 n (n - 1) M / ( n sum c_w + (n - 2) sum c_s ) ),

    sums over nodes with replicas (w) and servers (s): with equal links and k servers, BytePS's optimum
    2 n (n - 1) M / ((n^2 + k n - 2 k) B) (Jiang et al., OSDI 2020). A ring all-reduce sends 2 (R - 1) / R M over every
    link, R >= n replicas, which is never less than PS with equal shares 1/n, 2 (n - 1) / n M: mixing it in gains nothing.
    An all-gather of rows sends (n - 1) M, no less either.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    lossless : bool
        False: gradients may be narrowed to two bytes per element where they are all-reduced; a server's pushes and
        pulls are not.

    Returns
    -------
    float
        Seconds; 0 for one node, or where links are unlimited.
    """
    full = wire_nbytes(model)
    bound = _least_time(full, cluster)
    if lossless:
        return bound
    # With compressors, what is narrowed is all-reduced; half the bytes through servers is a bound below both.
    return _least_time(wire_nbytes(model, narrowest=True), cluster)


def wire_nbytes(model: "ModelSpec", *, narrowest: bool = False) -> float:
    """Bytes of one replica's gradient on the wire: the smaller of touched rows and the whole, per variable."""
    total = 0.0
    for variable in model.variables:
        nbytes = min(variable.gradient_nbytes, float(variable.nbytes))
        if narrowest:
            nbytes *= min(1.0, NARROWEST_BYTES * variable.size / variable.nbytes)
        total += nbytes
    return total


def server_shares(cluster: ClusterSpec) -> tuple[float, ...]:
    """Shares of the bytes, by node, at which the bandwidth bound is reached: they sum to 1.

    Where several choices reach it, each node gets the same fraction of what it could take.
    """
    time = _least_time(1.0, cluster)
    if time == 0.0 or math.isinf(time):
        return tuple(1.0 / len(cluster.nodes) for _ in cluster.nodes)
    most = _caps(time, 1.0, cluster)
    return tuple(x / sum(most) for x in most)


def _caps(time: float, nbytes: float, cluster: ClusterSpec) -> list[float]:
    """The largest share of each node with which a step can take `time`."""
    n = sum(1 for node in cluster.nodes if node.replicas)
    shares = []
    for node in cluster.nodes:
        could = min(node.up_bytes_per_s, node.down_bytes_per_s) * time / nbytes
        if not node.replicas:
            share = could / n
        elif n > 2:
            share = (could - 1) / (n - 2)
        else:
            share = 1.0
        shares.append(min(1.0, max(0.0, share)))
    return shares


def _least_time(nbytes: float, cluster: ClusterSpec) -> float:
    workers = [min(n.up_bytes_per_s, n.down_bytes_per_s) for n in cluster.nodes if n.replicas]
    servers = [min(n.up_bytes_per_s, n.down_bytes_per_s) for n in cluster.nodes if not n.replicas]
    n = len(workers)
    if n == 1 or nbytes == 0:
        return 0.0
    least = nbytes / min(workers)
    if least == 0.0 or sum(_caps(least, nbytes, cluster)) >= 1.0:
        return least
    # The sum of caps is increasing and piecewise linear in time: find the piece where it reaches 1.
    breaks = {nbytes / c for c in workers} | {nbytes * (n - 1) / c for c in workers} | {nbytes * n / c for c in servers}
    low = least
    for high in sorted(b for b in breaks if b > least):
        below, above = sum(_caps(low, nbytes, cluster)), sum(_caps(high, nbytes, cluster))
        if above >= 1.0:
            return low + (high - low) * (1.0 - below) / (above - below)
        low = high
    return low
