"""Models and clusters as arrays, for code that works on whole batches.

Shapes: V variables, A axes (of the variable that has most), N nodes, R replicas.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.bound import row_shares, server_shares
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import DTYPE_BYTES
from autosync_lab.strategy.validate import NARROWED

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ModelArrays:
    """A model's variables, in forward order.

    `dims` [V, A] is padded with 1; the rest is [V]. `push_nbytes` are the bytes of one replica's gradient, without row
    indices; `ready` is the share of the compute time after which the gradient is ready; `ready_order` lists variables
    in the order in which their gradients are ready (ties: the last layer first, as backward passes go).
    """

    dims: Integers
    axes: Integers
    size: Floats
    nbytes: Floats
    push_nbytes: Floats
    element_nbytes: Floats
    row_nbytes: Floats
    touched_rows: Floats
    sparse: Booleans
    narrowed: Booleans
    ready: Floats
    ready_order: Integers

    @classmethod
    def of(cls, model: ModelSpec) -> "ModelArrays":
        """The arrays of a model."""
        variables = model.variables
        axes = max([len(v.shape) for v in variables] + [1])
        ready = np.asarray([v.ready for v in variables])
        return cls(
            dims=np.asarray([[*v.shape, *[1] * (axes - len(v.shape))] for v in variables], np.int64),
            axes=np.asarray([len(v.shape) for v in variables], np.int64),
            size=np.asarray([v.size for v in variables], float),
            nbytes=np.asarray([v.nbytes for v in variables], float),
            push_nbytes=np.asarray([v.gradient_nbytes for v in variables]),
            element_nbytes=np.asarray([DTYPE_BYTES[v.dtype] for v in variables], float),
            row_nbytes=np.asarray([v.row_nbytes for v in variables]),
            touched_rows=np.asarray([v.touched_rows or 0.0 for v in variables]),
            sparse=np.asarray([v.sparse for v in variables]),
            narrowed=np.asarray([v.dtype in NARROWED for v in variables]),
            ready=ready,
            ready_order=np.lexsort((-np.arange(len(variables)), ready)).astype(np.int64),
        )


@dataclass(frozen=True)
class ClusterArrays:
    """A cluster's nodes, in rank order.

    `up`, `down` [N] bytes per second, infinite where no link limits them; `latency_s` [N], one way; `replicas` [N];
    `replica_node` [R]; `shares` [2, N]: the part of the bytes of whole gradients, and of rows, that each node serves at
    best.
    """

    up: Floats
    down: Floats
    latency_s: Floats
    replicas: Integers
    replica_node: Integers
    shares: Floats

    @classmethod
    def of(cls, cluster: ClusterSpec) -> "ClusterArrays":
        """The arrays of a cluster."""
        return cls(
            up=np.asarray([n.up_bytes_per_s for n in cluster.nodes], float),
            down=np.asarray([n.down_bytes_per_s for n in cluster.nodes], float),
            latency_s=np.asarray([n.latency_s for n in cluster.nodes], float),
            replicas=np.asarray([n.replicas for n in cluster.nodes], np.int64),
            replica_node=np.asarray(cluster.replica_nodes, np.int64),
            shares=np.asarray([server_shares(cluster), row_shares(cluster)], float),
        )
