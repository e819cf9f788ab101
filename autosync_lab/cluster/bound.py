"""The bandwidth bound: no strategy of the same semantics can be faster, whatever it does."""

import math
from typing import TYPE_CHECKING

from autosync_lab.cluster.spec import ClusterSpec

if TYPE_CHECKING:
    from autosync_lab.model.spec import ModelSpec
    from autosync_lab.model.variable import Variable

NARROWEST_BYTES = 2
"""Bytes of one element in the narrowest wire format that a compressor makes (fp16, bf16)."""


def bandwidth_bound(model: "ModelSpec", cluster: ClusterSpec, *, lossless: bool = True) -> float:
    """Least seconds that the links need for one synchronous step, were bandwidth all that counts.

    Let n nodes have replicas and M be the bytes of one replica's gradient (only touched rows of sparse variables,
    without their indices). Let c_i be the smaller of node i's two bandwidths. A parameter server makes its node send
    as much as it receives: where node i owns the share x_i of M, with every transfer done once per node (local
    replication),

    - a node with replicas sends its gradient of what others own, M (1 - x_i), and gives what it owns to the n - 1 other
      nodes with replicas, (n - 1) M x_i: together M (1 + (n - 2) x_i);
    - a CPU-only server sends n M x_i.

    So with s = T / M the step takes T only if x_i <= (c_i s - 1) / (n - 2) on nodes with replicas, which also says
    T >= M / c_i, and x_i <= c_i s / n on servers; and never x_i > 1. The shares sum to 1, so the bound is the least T
    for which these caps sum to at least 1. Without the caps at 1 that is

        T = max( M / min c_w,  2 n (n - 1) M / ( n sum c_w + (n - 2) sum c_s ) ),

    sums over nodes with replicas (w) and servers (s): with equal links and k servers, BytePS's optimum
    2 n (n - 1) M / ((n^2 + k n - 2 k) B) (Jiang et al., OSDI 2020). A ring all-reduce over R >= n replicas sends
    2 (R - 1) / R M, a hierarchical one 2 (n - 1) / n M, over every link of a node with replicas: never less than PS
    with equal shares 1 / n, so mixing it in gains nothing. An all-gather of rows sends (n - 1) M, no less either.

    With compressors, an all-reduce may carry the fraction h <= 1/2 of a wide, dense variable's bytes, while servers
    push and pull all of them. It then sends 2 (n - 1) / n h < 1 times those bytes over each link of a node with
    replicas and none elsewhere, where PS sends at least all of them: it is best whatever the links are, so its bytes A
    come off those links first (c_i T - A in place of c_i T) and M is what remains. A sparse variable of m touched
    and w whole bytes may be pulled as rows or all-reduced whole; the bound takes the all-reduce if it sends at most m,
    and else counts min(m, h w) bytes of PS, which is below both.

    Rows have to be pulled before there is a gradient to push, so their two ways do not overlap. Of m bytes of rows a
    node with replicas that owns the share x receives (1 - x) m and sends (n - 1) x m in the first phase, and the other
    way round in the second, where the bytes M' of dense gradients, or of their all-reduce if that is less, join both
    ways. On links of c both ways the phases together take (M' + 2 m max(1 - x, (n - 1) x)) / c, at least

        T' = (M' + 2 (n - 1) / n m) / c

    and no less where rows are gathered, (n - 1) m, or their table is all-reduced as a whole, 2 (n - 1) / n times its
    bytes, or what a compressor leaves of them. The bound is the larger one of T and T'.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    lossless : bool
        False: compressors are allowed.

    Returns
    -------
    float
        Seconds; 0 for one node, or where links are unlimited.
    """
    n = len(cluster.worker_nodes)
    if n == 1:
        return 0.0
    return max(_time_overlapped(model, cluster, lossless), _time_in_phases(model, cluster, lossless))


def wire_nbytes(model: "ModelSpec") -> float:
    """Bytes of one replica's gradient: whole dense variables, and the touched rows of sparse ones."""
    return sum(v.gradient_nbytes for v in model.variables)


def server_shares(cluster: ClusterSpec) -> tuple[float, ...]:
    """Shares of the bytes, by node, at which the bandwidth bound is reached: they sum to 1.

    Where several choices reach it, each node gets the same fraction of what it could take.
    """
    if len(cluster.worker_nodes) == 1:
        # The only node with replicas needs no link to serve itself.
        return tuple(1.0 if node.replicas else 0.0 for node in cluster.nodes)
    time = _least_time(1.0, 0.0, cluster)
    if time == 0.0 or math.isinf(time):
        return tuple(1.0 / len(cluster.nodes) for _ in cluster.nodes)
    most = _caps(time, 1.0, 0.0, cluster)
    return tuple(x / sum(most) for x in most)


def row_shares(cluster: ClusterSpec) -> tuple[float, ...]:
    """Shares of the bytes of pulled rows, by node, at which pulling and then pushing them is fastest: they sum to 1.

    With n nodes with replicas, the narrowest of bandwidth c, each of the phases takes T = (n - 1) / (n c) at best, for
    which node i owns between 1 - c_i T and c_i T / (n - 1); those bounds leave a choice to faster nodes, who all take
    the same fraction of it. CPU-only servers could not make it faster, and get none.
    """
    n = len(cluster.worker_nodes)
    widths = [min(node.up_bytes_per_s, node.down_bytes_per_s) for node in cluster.nodes]
    narrowest = min(c for c, node in zip(widths, cluster.nodes, strict=True) if node.replicas)
    if n == 1 or math.isinf(narrowest):
        return server_shares(cluster)
    least, most = [], []
    for c, node in zip(widths, cluster.nodes, strict=True):
        relative = (n - 1) / n * c / narrowest
        least.append(max(0.0, 1.0 - relative) if node.replicas else 0.0)
        most.append(min(1.0, relative / (n - 1)) if node.replicas else 0.0)
    spare = sum(most) - sum(least)
    fraction = (1.0 - sum(least)) / spare if spare > 0.0 else 0.0
    return tuple(low + fraction * (high - low) for low, high in zip(least, most, strict=True))


def _time_overlapped(model: "ModelSpec", cluster: ClusterSpec, lossless: bool) -> float:
    """T of `bandwidth_bound`, on two or more nodes with replicas."""
    if lossless:
        return _least_time(wire_nbytes(model), 0.0, cluster)
    n = len(cluster.worker_nodes)
    served = reduced = 0.0
    for variable in model.variables:
        narrow = variable.nbytes * _narrowing(variable)
        around = 2 * (n - 1) / n * narrow
        if around <= variable.gradient_nbytes:
            reduced += around
        else:
            served += min(variable.gradient_nbytes, narrow)
    return _least_time(served, reduced, cluster)


def _time_in_phases(model: "ModelSpec", cluster: ClusterSpec, lossless: bool) -> float:
    """T' of `bandwidth_bound`, with the wider one of each node's two bandwidths; 0 without sparse variables."""
    if not any(v.sparse for v in model.variables):
        return 0.0
    n = len(cluster.worker_nodes)
    around = 2 * (n - 1) / n
    nbytes = 0.0
    for v in model.variables:
        narrow = v.nbytes * (1.0 if lossless else _narrowing(v))
        nbytes += around * min(v.gradient_nbytes, narrow) if v.sparse else min(v.nbytes, around * narrow)
    return nbytes / min(max(node.up_bytes_per_s, node.down_bytes_per_s) for node in cluster.worker_nodes)


def _narrowing(variable: "Variable") -> float:
    """The fraction of a variable's bytes that travels in the narrowest wire format."""
    return min(1.0, NARROWEST_BYTES * variable.size / variable.nbytes)


def _caps(time: float, served: float, reduced: float, cluster: ClusterSpec) -> list[float]:
    """The largest share of `served` bytes that each node could own if a step takes `time`."""
    n = len(cluster.worker_nodes)
    shares = []
    for node in cluster.nodes:
        could = min(node.up_bytes_per_s, node.down_bytes_per_s) * time
        if not node.replicas:
            share = could / served / n
        elif n > 2:
            share = ((could - reduced) / served - 1) / (n - 2)
        else:
            share = 1.0
        shares.append(min(1.0, max(0.0, share)))
    return shares


def _least_time(served: float, reduced: float, cluster: ClusterSpec) -> float:
    """Least time in which two or more nodes with replicas pass `reduced` bytes on and have `served` ones served."""
    workers = [min(n.up_bytes_per_s, n.down_bytes_per_s) for n in cluster.nodes if n.replicas]
    servers = [min(n.up_bytes_per_s, n.down_bytes_per_s) for n in cluster.nodes if not n.replicas]
    n = len(workers)
    least = (reduced + served) / min(workers)
    if least == 0.0 or served == 0.0 or sum(_caps(least, served, reduced, cluster)) >= 1.0:
        return least
    # The sum of caps is increasing and piecewise linear in time: find the piece where it reaches 1.
    breaks = {(reduced + served * k) / c for c in workers for k in (1, n - 1)} | {served * n / c for c in servers}
    low = least
    for high in sorted(b for b in breaks if b > least):
        below, above = (sum(_caps(time, served, reduced, cluster)) for time in (low, high))
        if above >= 1.0:
            return low + (high - low) * (1.0 - below) / (above - below)
        low = high
    return low
