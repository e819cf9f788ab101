"""Rules that prune a strategy space. One file each; every one says why."""

from collections.abc import Callable

from autosync_lab.errors import InvalidInput
from autosync_lab.space.constraints.adjacent_merge import AdjacentMerge as AdjacentMerge
from autosync_lab.space.constraints.base import Constraint as Constraint
from autosync_lab.space.constraints.embedding_axis_0 import EmbeddingAxis0 as EmbeddingAxis0
from autosync_lab.space.constraints.load_balance import LoadBalance as LoadBalance
from autosync_lab.space.constraints.load_balance import LoadBalanceSoftmax as LoadBalanceSoftmax
from autosync_lab.space.constraints.local_replication import NoLocalReplication as NoLocalReplication
from autosync_lab.space.constraints.partition_bounds import PartitionBounds as PartitionBounds
from autosync_lab.space.constraints.same_synchronizer import SameSynchronizer as SameSynchronizer
from autosync_lab.space.constraints.single_node import SingleNodeNoPS as SingleNodeNoPS
from autosync_lab.space.constraints.sparse_to_ps import SparseToPS as SparseToPS

CONSTRAINTS: dict[str, Callable[[], Constraint]] = {
    constraint.name: constraint
    for constraint in (
        SparseToPS,
        EmbeddingAxis0,
        PartitionBounds,
        SameSynchronizer,
        NoLocalReplication,
        SingleNodeNoPS,
        LoadBalance,
        LoadBalanceSoftmax,
        AdjacentMerge,
    )
}

DEFAULT_CONSTRAINTS = tuple(name for name in CONSTRAINTS if name != LoadBalanceSoftmax.name)
"""What a search prunes by unless it is told otherwise."""


def constraint(name: "str | Constraint") -> Constraint:
    """The constraint called `name`; a constraint is returned as it is.

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if isinstance(name, Constraint):
        return name
    if not isinstance(name, str) or name not in CONSTRAINTS:
        raise InvalidInput("unknown constraint", received=name, valid=CONSTRAINTS)
    return CONSTRAINTS[name]()
