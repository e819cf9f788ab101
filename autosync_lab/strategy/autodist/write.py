"""Writing AutoDist's strategy files."""

from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidStrategy
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.autodist.layout import COMPRESSORS, LAYOUTS, partitioner_of, strategy_class
from autosync_lab.strategy.spec import ParameterServer, Strategy, Synchronizer
from autosync_lab.strategy.validate import validate_strategy

MAX_GROUP = 2**31 - 1


def dump_autodist_strategy(
    strategy: Strategy, model: ModelSpec, cluster: ClusterSpec, *, layout: str = "released"
) -> bytes:
    """The strategy as a serialized `Strategy` message of AutoDist; `parse_autodist_strategy` reads it back.

    Variables are called as here, with AutoDist's `:0` behind. What a dense gradient's `sparse_as` says means nothing,
    and is not kept.

    Parameters
    ----------
    strategy : Strategy
    model : ModelSpec
        Tells how many axes a variable has.
    cluster : ClusterSpec
        Its nodes' names are the addresses. A replica runs on a GPU of its own where its node lists GPUs, else on a CPU.
    layout : str
        One of `LAYOUTS`.

    Raises
    ------
    InvalidStrategy
        If it is not valid for the model on the cluster, or says what AutoDist cannot; naming the variable and the rule.
    """
    if layout not in LAYOUTS:
        raise InvalidStrategy("unknown layout of AutoDist's files", received=layout, valid=LAYOUTS)
    validate_strategy(strategy, model, cluster)
    if strategy.push_credit:
        raise InvalidStrategy(
            "AutoDist has no limit on the pushes in flight", where="push_credit", received=strategy.push_credit
        )
    message = strategy_class(layout)(id=strategy.id)
    message.graph_config.replicas.extend(_replica_devices(cluster))
    sync, staleness = _update(strategy)
    for variable, entry in zip(model.variables, strategy.variables, strict=True):
        node = message.node_config.add(var_name=f"{variable.name}:0")
        if entry.axis is None:
            _synchronize(node, entry.shards[0], variable, layout, sync, staleness)
            continue
        node.partitioner = partitioner_of(entry.axis, len(entry.shards), len(variable.shape))
        for number, shard in enumerate(entry.shards):
            part = node.part_config.add(var_name=f"{variable.name}/part_{number}:0")
            _synchronize(part, shard, variable, layout, sync, staleness)
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _update(strategy: Strategy) -> tuple[bool, int]:
    """`sync` and `staleness` of every parameter server."""
    if strategy.synchronous:
        return True, 0
    if not any(isinstance(s, ParameterServer) for v in strategy.variables for s in v.shards):
        raise InvalidStrategy(
            "in AutoDist only parameter servers are asynchronous, and no shard is on one", where="synchronous"
        )
    if strategy.staleness == 0:
        raise InvalidStrategy("AutoDist's bound on the staleness is 1 or more", where="staleness", received=0)
    # With a bound, AutoDist's `sync` means that there is one.
    return strategy.staleness is not None, strategy.staleness or 0


def _synchronize(node: Any, shard: Synchronizer, variable: Variable, layout: str, sync: bool, staleness: int) -> None:
    where = f"variable {variable.name!r}"
    if isinstance(shard, ParameterServer):
        server = node.PSSynchronizer
        server.reduction_destination.append(f"{shard.destination}:CPU:0")
        server.local_replication, server.sync, server.staleness = shard.local_replication, sync, staleness
        return
    if shard.group is None or shard.group > MAX_GROUP:
        raise InvalidStrategy(
            f"in AutoDist every all-reduced shard is in a group, numbered from 0 to {MAX_GROUP}",
            where=where,
            received="no group" if shard.group is None else shard.group,
        )
    if shard.compressor not in COMPRESSORS:
        raise InvalidStrategy(
            "AutoDist has no such compressor", where=where, received=shard.compressor, valid=COMPRESSORS
        )
    if variable.sparse and shard.sparse_as != "gather":
        raise InvalidStrategy(
            "AutoDist all-gathers the rows of a sparse variable", where=where, received=shard.sparse_as
        )
    # Also a message without values must be there: it says that the shard is all-reduced.
    node.AllReduceSynchronizer.SetInParent()
    node.AllReduceSynchronizer.group = shard.group
    if layout == "later":
        node.compressor.type = COMPRESSORS.index(shard.compressor)
    else:
        node.AllReduceSynchronizer.compressor = COMPRESSORS.index(shard.compressor)


def _replica_devices(cluster: ClusterSpec) -> list[str]:
    devices = []
    for node in cluster.nodes:
        if node.gpus and node.replicas > len(node.gpus):
            raise InvalidStrategy(
                f"AutoDist gives each replica a GPU of its own, and this node has {len(node.gpus)}",
                where=f"node {node.name!r}",
                received=node.replicas,
            )
        kind, numbers = ("GPU", node.gpus) if node.gpus else ("CPU", tuple(range(node.replicas)))
        devices += [f"{node.name}:{kind}:{number}" for number in numbers[: node.replicas]]
    return devices
