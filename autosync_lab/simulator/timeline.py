"""`Timeline`: one simulated step of one strategy, event by event."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.model.variable import INDEX_BYTES
from autosync_lab.runtime.engine.labels import OWN
from autosync_lab.runtime.trial import Event
from autosync_lab.simulator.event_loop import play_step
from autosync_lab.space.batch import ALL_REDUCED, UNGROUPED, StrategyBatch
from autosync_lab.strategy.spec import Strategy

if TYPE_CHECKING:
    from autosync_lab.simulator.cost_model import CostModel

NODES_ONE_BY_ONE = 16
"""Up to this many nodes each is simulated by itself; on larger clusters nodes that are alike share their links."""

REFRESHES = 2000
"""On larger clusters, rates are found anew about this often in a step."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """One simulated step.

    Parameters
    ----------
    step_time_s : float
    strategy : Strategy
    events_of : tuple of (worker, lane, name, start_s, end_s)
        Compact form of `events`.
    """

    step_time_s: float
    rows: tuple[tuple[str, str, str, float, float], ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The step in the trace format of the runtime: seconds since its start."""
        return tuple(Event(*row) for row in self.rows)


@dataclass(frozen=True)
class _Classes:
    """Worker nodes that are simulated together: `members` [K] nodes of `replicas` [K] each; `of_node` [N], -1 for
    servers without replicas; `first` [K] is the first node of each."""

    of_node: npt.NDArray[np.int64]
    members: Floats
    replicas: Floats
    first: npt.NDArray[np.int64]
    apart: bool


def play(cost: "CostModel", strategy: "Strategy | StrategyBatch") -> "Played":
    """Simulate one step of a strategy, or of the only one in a batch."""
    batch = (
        strategy if isinstance(strategy, StrategyBatch) else StrategyBatch.encode([strategy], cost.model, cost.cluster)
    )
    if len(batch) != 1:
        raise InvalidInput("a timeline is of one strategy", received=len(batch))
    return Played(cost, batch)


class Played:
    """A simulated step: `step_time_s`, and `timeline()` with its events."""

    def __init__(self, cost: "CostModel", batch: StrategyBatch) -> None:
        self._cost, self._batch = cost, batch
        c, v, n = cost.calibration, cost._variables, cost._nodes
        self._classes = classes = _classes(cost)
        up, down = cost.link_bytes_per_s
        latency = n.latency_s + c.latency_s
        world = int(n.replicas.sum())
        order = np.argsort(-batch.variable, kind="stable")
        variable, share = batch.variable[order], batch.share[order]
        served = batch.destination[order] != ALL_REDUCED
        sparse = v.sparse[variable]
        rows = v.touched_rows[variable] * share
        push = np.where(sparse, rows * (v.row_nbytes[variable] + INDEX_BYTES), v.nbytes[variable] * share)
        self.offset_s, self._row_pulls = self._pull_rows(order, variable, served, sparse, rows, up, down, latency)
        # The replica's process computes and serializes in order.
        work = np.where(served, c.push_s + sparse * c.rows_s + push * c.server_s_per_byte, c.tensor_s)
        ready = self.offset_s + v.ready[variable] * cost.compute_s
        done = _queue(ready, work)
        # Its first layers need not have gradients, and are computed all the same.
        cpu_free = max(float(done[-1]), self.offset_s + cost.compute_s)
        here = order[served]
        once = batch.local_replication[here] & ~sparse[served]
        owner = batch.destination[here].astype(np.int64)
        each = np.where(once[:, None], 1.0, classes.replicas[None, :])
        away = classes.members[None, :] - (classes.of_node[owner][:, None] == np.arange(len(classes.members))[None, :])
        pushers = each * away
        own = np.where(once, np.minimum(n.replicas[owner], 1), n.replicas[owner])
        apply_work = c.apply_s + push[served] * (pushers.sum(axis=1) + own) * c.server_s_per_byte
        groups = self._collectives(order[~served], variable[~served], share[~served], done[~served], world)
        links, capacity = _routes(classes, up, down, len(n.replicas))
        self._pushed = np.empty((len(owner), len(classes.members), 2))
        self._pulled = np.empty_like(self._pushed)
        self._applied = np.zeros((len(owner), 2))
        self._collected = np.empty((len(groups.ready_s), 3))
        ring = classes.members if np.count_nonzero(n.replicas) > 1 else np.zeros(len(classes.members))
        refresh = 0.0 if classes.apart else float(cost.step_time(batch)[0]) / REFRESHES
        end = play_step(
            owner,
            done[served],
            push[served],
            np.where(sparse[served], 0.0, push[served]),
            apply_work,
            pushers,
            int(batch.push_credit[0]),
            groups.ready_s,
            groups.wire,
            groups.work_s,
            groups.tensors,
            groups.rows,
            groups.fused,
            ring.astype(float),
            links,
            capacity,
            latency,
            float(latency.max()),
            world,
            c.stream_bytes_per_s,
            c.window_nbytes,
            cpu_free,
            c.pull_s,
            c.acknowledge_s,
            c.collective_s,
            c.exchange_s,
            c.tensor_s,
            c.cycle_s,
            self._pushed,
            self._applied,
            self._pulled,
            self._collected,
            refresh,
        )
        serving = work[served].sum() + served.sum() * c.pull_s + apply_work.sum() / len(n.replicas)
        started = np.unique(self._collected[:, 2])
        collecting = len(started) * c.exchange_s + groups.work_s.sum() + groups.tensors.sum() * c.tensor_s
        self.step_time_s = float(max(end, cpu_free) + c.step_s + c.contention * min(serving, collecting))
        self._here, self._owner, self._groups, self._once = here, owner, groups, once

    def _pull_rows(
        self,
        order: npt.NDArray[np.int64],
        variable: npt.NDArray[np.int32],
        on_servers: npt.NDArray[np.bool_],
        sparse: npt.NDArray[np.bool_],
        rows: Floats,
        up: Floats,
        down: Floats,
        latency: Floats,
    ) -> tuple[float, npt.NDArray[np.int64]]:
        """Seconds until all rows are pulled, and which shards those are of."""
        c, v, n = self._cost.calibration, self._cost._variables, self._cost._nodes
        asked = on_servers & sparse
        if not asked.any():
            return 0.0, np.zeros(0, np.int64)
        nbytes = rows[asked] * v.row_nbytes[variable[asked]]
        owner = self._batch.destination[order[asked]]
        away = n.replicas.sum() - n.replicas
        # Indices go to the servers, rows come back.
        questions = rows[asked] * INDEX_BYTES
        served, asks = np.bincount(owner, nbytes, len(up)), np.bincount(owner, questions, len(up))
        goes_up = served * away + (questions.sum() - asks) * n.replicas
        comes_down = asks * away + (nbytes.sum() - served) * n.replicas
        links = max((goes_up / up).max(), (comes_down / down).max())
        cpu = asked.sum() * c.pull_s + nbytes.sum() * c.server_s_per_byte
        return float((2 * latency.max() if links else 0.0) + max(links, cpu)), order[asked]

    def _collectives(
        self,
        here: npt.NDArray[np.int64],
        variable: npt.NDArray[np.int32],
        share: Floats,
        done: Floats,
        world: int,
    ) -> "_Collectives":
        v, batch = self._cost._variables, self._batch
        group = batch.group[here].astype(np.int64)
        fused = bool(len(here)) and bool((group == UNGROUPED).all())
        loose = group == UNGROUPED
        first_loose = int(group.max(initial=-1)) + 1
        group[loose] = first_loose + np.arange(loose.sum())
        as_rows = v.sparse[variable] & ~batch.densified[here]
        raw = v.nbytes[variable] * share
        gathered = v.touched_rows[variable] * share * (v.row_nbytes[variable] + INDEX_BYTES)
        narrow = self._cost.wire_nbytes[batch.compressor[here]]
        packed = np.where(narrow > 0, raw / v.element_nbytes[variable] * narrow, raw)
        wire = np.where(as_rows, gathered * (world - 1), packed * 2 * (world - 1) / world)
        work = np.where(as_rows, gathered * world, raw) * self._cost.reduce_s_per_byte[batch.compressor[here]]
        count = int(group.max(initial=-1)) + 1
        ready = np.zeros(count)
        np.maximum.at(ready, group, done)
        rows = np.zeros(count, np.bool_)
        rows[group] = as_rows
        by_ready = np.argsort(ready, kind="stable")
        names = [f"group{g}" if g < first_loose else self._shard_name(here[group == g][0]) for g in by_ready]
        return _Collectives(
            ready[by_ready],
            np.asarray(np.bincount(group, wire, count)[by_ready], float),
            np.asarray(np.bincount(group, work, count)[by_ready], float),
            np.bincount(group, minlength=count)[by_ready].astype(np.int64),
            rows[by_ready],
            fused,
            names,
        )

    def _shard_name(self, s: int) -> str:
        batch = self._batch
        v = int(batch.variable[s])
        name = batch.model.variables[v].name
        return f"{name}{OWN}shard{s - batch.start[v]}" if batch.shards[0, v] > 1 else name

    def timeline(self) -> Timeline:
        """The step's events, one worker of each class of nodes (all of them on a small cluster)."""
        cost, classes = self._cost, self._classes
        rows: list[tuple[str, str, str, float, float]] = []
        names = [self._shard_name(s) for s in self._here]
        ranks = np.concatenate([[0], np.cumsum(cost._nodes.replicas)])
        for k, node in enumerate(classes.first):
            many = int(classes.replicas[k]) if classes.apart else 1
            for r in range(many):
                worker = f"replica {ranks[node] + r} on {cost.cluster.nodes[node].name}"
                rows.append((worker, "compute", "forward and backward", self.offset_s, self.offset_s + cost.compute_s))
                rows += [(worker, "pull", self._shard_name(s), 0.0, self.offset_s) for s in self._row_pulls]
                for lane, spans in (("push", self._pushed), ("pull", self._pulled)):
                    for q in np.flatnonzero(~np.isnan(spans[:, k, 1])):
                        if lane == "push" and r > 0 and self._once[q]:
                            # The first replica of a node pushes for all.
                            continue
                        rows.append((worker, lane, names[q], float(spans[q, k, 0]), float(spans[q, k, 1])))
                for g, (start, end, _) in enumerate(self._collected):
                    rows.append((worker, "all-reduce", self._groups.names[g], float(start), float(end)))
        for name, owner, (start, end) in zip(names, self._owner, self._applied, strict=True):
            node = cost.cluster.nodes[owner]
            kind = f"replica {ranks[owner]}" if node.replicas else "server"
            rows.append((f"{kind} on {node.name}", "apply", name, float(start), float(end)))
        return Timeline(self.step_time_s, tuple(sorted(rows, key=lambda r: (r[3], r[4], r[0], r[1], r[2]))))


@dataclass(frozen=True)
class _Collectives:
    """Collectives in the order in which they are ready; arguments of `play_step`."""

    ready_s: Floats
    wire: Floats
    work_s: Floats
    tensors: npt.NDArray[np.int64]
    rows: npt.NDArray[np.bool_]
    fused: bool
    names: list[str]


def _queue(ready: Floats, work: Floats) -> Floats:
    """When each of some jobs is done that one process does in order: max over earlier ones of ready + work since."""
    total = np.cumsum(work)
    return np.asarray(np.maximum.accumulate(ready - (total - work)) + total)


def _classes(cost: "CostModel") -> _Classes:
    nodes = cost.cluster.nodes
    apart = len(nodes) <= NODES_ONE_BY_ONE
    keys: dict[object, int] = {}
    of_node = np.full(len(nodes), -1, np.int64)
    first: list[int] = []
    for i, node in enumerate(nodes):
        if not node.replicas:
            continue
        key = i if apart else (node.up_gbps, node.down_gbps, node.latency_s, node.replicas)
        if key not in keys:
            keys[key] = len(keys)
            first.append(i)
        of_node[i] = keys[key]
    members = np.bincount(of_node[of_node >= 0], minlength=len(keys)).astype(float)
    return _Classes(of_node, members, cost._nodes.replicas[first].astype(float), np.asarray(first, np.int64), apart)


def _routes(classes: _Classes, up: Floats, down: Floats, nodes: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Links of every route, and what each link carries.

    Links: the classes' own uplinks together (K), their downlinks (K), each node's uplink (N) and downlink (N).
    """
    many = len(classes.members)
    worker = classes.of_node >= 0
    capacity = np.concatenate(
        [
            np.bincount(classes.of_node[worker], up[worker], many),
            np.bincount(classes.of_node[worker], down[worker], many),
            up,
            down,
        ]
    )
    links = np.full((2 * many * nodes + many, 4), -1, np.int64)
    j = np.arange(nodes)
    pool = classes.of_node
    for k in range(many):
        push = k * nodes + j
        links[push, 0] = k
        links[push, 1] = np.where(pool >= 0, many + pool, -1)
        links[push, 2] = 2 * many + nodes + j
        pull = many * nodes + j * many + k
        links[pull, 0] = many + k
        links[pull, 1] = np.where(pool >= 0, pool, -1)
        links[pull, 2] = 2 * many + j
        links[2 * many * nodes + k, :2] = k, many + k
    return links, capacity
