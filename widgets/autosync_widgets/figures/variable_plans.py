"""What a strategy does with each variable, in words and in bytes."""

from collections import Counter
from dataclasses import dataclass, replace

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy
from autosync_lab.strategy.traffic import traffic_matrix
from autosync_widgets.wording import plural

MOST_LISTED = 4
"""Nodes or groups that are listed by name; more are counted."""


@dataclass(frozen=True)
class VariablePlan:
    """One variable under one strategy; texts are empty where they do not apply.

    Parameters
    ----------
    variable : str
    nbytes : int
    partition, synchronizer, destination, group, wire : str
        In words.
    link_nbytes : float
        Bytes that cross links for it in one step, all nodes together.
    """

    variable: str
    nbytes: int
    partition: str
    synchronizer: str
    destination: str
    group: str
    wire: str
    link_nbytes: float


def variable_plans(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy) -> tuple[VariablePlan, ...]:
    """One plan per variable, in forward order.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    strategy : Strategy
        Valid for both.
    """
    return tuple(
        VariablePlan(
            variable=variable.name,
            nbytes=variable.nbytes,
            partition="whole" if entry.axis is None else f"{len(entry.shards)} on axis {entry.axis}",
            synchronizer=_synchronizer(entry),
            destination=_destination(entry),
            group=_group(entry),
            wire=_wire(variable, entry),
            link_nbytes=_link_nbytes(model, cluster, strategy, variable, entry),
        )
        for variable, entry in zip(model.variables, strategy.variables, strict=True)
    )


def settings_text(strategy: Strategy) -> str:
    """Graph-wide settings in words."""
    mode = "synchronous"
    if not strategy.synchronous:
        bound = (
            "without a bound" if strategy.staleness is None else f"at most {plural(strategy.staleness, 'step')} apart"
        )
        mode = f"asynchronous, {bound}"
    credit = f", {strategy.push_credit} pushes in flight" if strategy.push_credit else ""
    return mode + credit


def _link_nbytes(
    model: ModelSpec, cluster: ClusterSpec, strategy: Strategy, variable: Variable, entry: VariableStrategy
) -> float:
    alone = replace(model, variables=(variable,), notes=())
    return float(traffic_matrix(alone, cluster, replace(strategy, variables=(entry,))).sum())


def _synchronizer(entry: VariableStrategy) -> str:
    servers = [s for s in entry.shards if isinstance(s, ParameterServer)]
    replicated = ", summed per node" if any(s.local_replication for s in servers) else ""
    if len(servers) == len(entry.shards):
        return f"parameter server{replicated}"
    if not servers:
        return "all-reduce"
    return f"{len(servers)} on servers{replicated}, {len(entry.shards) - len(servers)} all-reduced"


def _destination(entry: VariableStrategy) -> str:
    owners = Counter(s.destination for s in entry.shards if isinstance(s, ParameterServer))
    if len(owners) > MOST_LISTED:
        return f"{len(owners)} nodes, {min(owners.values())} to {max(owners.values())} shards each"
    return ", ".join(node if times == 1 else f"{node} x{times}" for node, times in owners.items())


def _group(entry: VariableStrategy) -> str:
    groups = dict.fromkeys(s.group for s in entry.shards if isinstance(s, AllReduce))
    if not groups:
        return ""
    if len(groups) > MOST_LISTED:
        return f"{len(groups)} groups"
    return ", ".join("none" if g is None else str(g) for g in groups)


def _wire(variable: Variable, entry: VariableStrategy) -> str:
    return ", ".join(dict.fromkeys(_shard_wire(variable, s) for s in entry.shards))


def _shard_wire(variable: Variable, shard: ParameterServer | AllReduce) -> str:
    if isinstance(shard, ParameterServer):
        return "rows" if variable.sparse else variable.dtype
    if variable.sparse and shard.sparse_as == "gather":
        return "rows, gathered"
    wire = variable.dtype if shard.compressor == "none" else shard.compressor
    return f"whole table as {wire}" if variable.sparse else wire
