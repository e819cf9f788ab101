"""Bytes that a strategy sends over each node's link in one step.

Transfers inside a node use no link. Headers, acknowledgements and tokens are not counted: a few percent.
"""

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import DTYPE_BYTES, INDEX_BYTES, Variable
from autosync_lab.strategy.shards import shard_shapes
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy

WIRE_BYTES = {"fp16": 2, "bf16": 2, "fp16-ef": 2}
"""Bytes of one element on the wire, by compressor."""

Matrix = npt.NDArray[np.float64]


def traffic_matrix(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy) -> Matrix:
    """Bytes per step from node i to node j, shape [nodes, nodes].

    - PS: every replica (with local replication: every node) pushes the shard's gradient to its node and pulls the
      shard. Of a sparse variable only touched rows travel; pushed rows carry an index each, and a pull sends the
      indices first.
    - All-reduce: a ring over replicas in rank order; each sends 2 (R - 1) / R of the bytes to the next.
    - All-gather of rows: a ring; each replica passes on the rows and indices of all replicas but the next one's.

    A sparse variable's touched rows are taken to spread evenly over its shards, and local replication to merge none.
    """
    before, after = _phases(model, cluster, strategy)
    return before + after


def _phases(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy) -> tuple[Matrix, Matrix]:
    """Bytes from node i to node j before there are gradients, while rows are pulled, and after."""
    before, after = np.zeros((2, len(cluster.nodes), len(cluster.nodes)))
    for variable, entry in zip(model.variables, strategy.variables, strict=True):
        early, late = _variable_phases(variable, cluster, entry)
        before += early
        after += late
    return before, after


def _variable_phases(variable: Variable, cluster: ClusterSpec, entry: VariableStrategy) -> tuple[Matrix, Matrix]:
    count = len(cluster.nodes)
    before, after = np.zeros((2, count, count))
    replicas = np.asarray([n.replicas for n in cluster.nodes], float)
    ring = _ring(cluster)
    size = cluster.replicas
    for shape, shard in zip(shard_shapes(variable, entry), entry.shards, strict=True):
        share = float(np.prod(shape)) / variable.size
        if isinstance(shard, ParameterServer):
            owner = cluster.node_index(shard.destination)
            once = shard.local_replication and variable.touched_rows is None
            pushers = np.minimum(replicas, 1.0) if once else replicas.copy()
            pushers[owner] = 0.0
            push, pull, ask = _server_bytes(variable, share)
            after[:, owner] += pushers * push
            before[:, owner] += pushers * ask
            (before if variable.sparse else after)[owner, :] += pushers * pull
        elif variable.sparse and shard.sparse_as == "gather":
            assert variable.touched_rows is not None
            rows = variable.touched_rows * share * (variable.row_nbytes + INDEX_BYTES)
            after += ring * (size - 1) * rows
        else:
            after += ring * 2 * (size - 1) / size * _wire_nbytes(variable, shard) * share
    return before, after


def node_traffic(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy) -> tuple[Matrix, Matrix]:
    """Bytes per step that each node sends and receives, each of shape [nodes]."""
    matrix = traffic_matrix(model, cluster, strategy)
    return matrix.sum(axis=1), matrix.sum(axis=0)


def link_time_s(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy) -> float:
    """The strategy's own bandwidth bound: seconds that its busiest link needs, were all transfers to overlap that can.

    In a synchronous step rows are pulled before there is any gradient to send.
    """
    before, after = _phases(model, cluster, strategy)
    if not strategy.synchronous:
        return _busiest_s(cluster, before + after)
    return _busiest_s(cluster, before) + _busiest_s(cluster, after)


def variable_link_time_s(variable: Variable, cluster: ClusterSpec, entry: VariableStrategy) -> float:
    """Seconds that the busiest link needs for one variable, were nothing else sent; synchronous."""
    before, after = _variable_phases(variable, cluster, entry)
    return _busiest_s(cluster, before) + _busiest_s(cluster, after)


def _busiest_s(cluster: ClusterSpec, matrix: Matrix) -> float:
    up = np.asarray([n.up_bytes_per_s for n in cluster.nodes])
    down = np.asarray([n.down_bytes_per_s for n in cluster.nodes])
    return float(max((matrix.sum(axis=1) / up).max(), (matrix.sum(axis=0) / down).max()))


def _ring(cluster: ClusterSpec) -> Matrix:
    """1 where a ring over the replicas in rank order crosses from node i to node j, once per crossing."""
    matrix = np.zeros((len(cluster.nodes), len(cluster.nodes)))
    nodes = cluster.replica_nodes
    for here, there in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
        if here != there:
            matrix[here, there] += 1.0
    return matrix


def _server_bytes(variable: Variable, share: float) -> tuple[float, float, float]:
    """Bytes of one push, one pull, and the question of one pull."""
    if variable.touched_rows is None:
        nbytes = variable.nbytes * share
        return nbytes, nbytes, 0.0
    rows = variable.touched_rows * share
    return rows * (variable.row_nbytes + INDEX_BYTES), rows * variable.row_nbytes, rows * INDEX_BYTES


def _wire_nbytes(variable: Variable, shard: AllReduce) -> float:
    return float(variable.size * WIRE_BYTES.get(shard.compressor, DTYPE_BYTES[variable.dtype]))
