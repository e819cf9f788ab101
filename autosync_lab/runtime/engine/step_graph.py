"""The graph of one process: the replica's compute, and every shard wired to its synchronizer."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from autosync_lab.model.traced import TracedModel, TracedVariable
from autosync_lab.runtime.engine.checkpoint import ERROR, STATE, VALUE, Key, Part
from autosync_lab.runtime.engine.compressor import WireGroup
from autosync_lab.runtime.engine.constants import constant
from autosync_lab.runtime.engine.labels import OWN, labels
from autosync_lab.runtime.engine.optimizer import (
    SHARD_OPTIMIZERS,
    Shard,
    ShardOptimizer,
)
from autosync_lab.runtime.engine.parameter_server import PushCredit, ServedShard
from autosync_lab.runtime.engine.rows import (
    RowReads,
    Rows,
    find_row_reads,
    merged,
    shard_of_rows,
    split_rows,
    without_nodes,
)
from autosync_lab.runtime.engine.staleness import staleness_gate
from autosync_lab.runtime.place import Place
from autosync_lab.strategy.shards import shard_offsets
from autosync_lab.strategy.spec import (
    AllReduce,
    ParameterServer,
    Strategy,
    VariableStrategy,
)


@dataclass(frozen=True)
class Kept:
    """A variable of this process's graph.

    `first` is its first value (an array, or one number for all elements) unless a checkpoint has the `part` of the
    training that it holds. `saved` is True on the one process whose variable goes into checkpoints: of several copies,
    only one does.
    """

    shard: Shard
    first: Any
    part: Part
    saved: bool


@dataclass
class StepGraph:
    """A built graph and what a process runs of it.

    `initial` are variables of this process; `step` is one training step; `parameters` are the trainable variables by
    name, as this process sees them.
    """

    graph: tf.Graph
    initial: list[Kept] = field(default_factory=list)
    initializers: list[tf.Operation] = field(default_factory=list)
    step: list[tf.Operation] = field(default_factory=list)
    loss: tf.Tensor | None = None
    barrier: tf.Operation | None = None
    inputs: dict[str, tf.Tensor] = field(default_factory=dict)
    gradients: list[tf.Tensor] = field(default_factory=list)
    parameters: dict[str, Callable[[], tf.Tensor]] = field(default_factory=dict)


@dataclass
class _Piece:
    """One all-reduced shard of a gradient, and where its average goes."""

    optimizer: ShardOptimizer
    part: Part
    gradient: tf.Tensor | Rows
    after_reads: list[tf.Operation]
    update: tf.Operation | None = None


class _Variable:
    """One variable on one process: its shards, and the local copy that the replica computes with."""

    def __init__(
        self,
        traced: TracedVariable,
        entry: VariableStrategy,
        value: np.ndarray,
        build: "_Build",
    ) -> None:
        place = build.place
        self.traced = traced
        self.label = build.labels[traced.name]
        self.entry = entry
        self.axis = entry.axis or 0
        length = traced.shape[self.axis] if traced.shape else 1
        self.offsets = shard_offsets(length, len(entry.shards))
        self.shards: list[ServedShard | ShardOptimizer] = []
        self.parts: list[Part] = []
        self.copy: Shard | None = None
        self.reads: RowReads | None = None
        if place.rank is not None:
            self.reads = find_row_reads(build.graph_def, traced.placeholder) if traced.sparse else None
            if self.reads is None:
                self.copy = Shard(f"copy{OWN}{self.label}", traced.shape, traced.dtype, place.here)
                # An all-reduced variable in one piece has no other home.
                saved = place.rank == 0 and len(entry.shards) == 1 and isinstance(entry.shards[0], AllReduce)
                whole = Part(Key(traced.name, VALUE), traced.shape)
                build.out.initial.append(Kept(self.copy, value, whole, saved))
        for s, synchronizer in enumerate(entry.shards):
            shape, name = traced.shape, self.label
            values, part = value, Part(Key(traced.name, VALUE), traced.shape)
            if entry.axis is not None:
                start, end = self.offsets[s], self.offsets[s + 1]
                shape = (*shape[: self.axis], end - start, *shape[self.axis + 1 :])
                values = value.take(range(start, end), axis=self.axis)
                part = replace(part, axis=self.axis, start=start, end=end)
                name = f"{self.label}{OWN}shard{s}"
            self.parts.append(part)
            self.shards.append(self._shard(name, shape, values, part, synchronizer, build))

    def _shard(
        self,
        name: str,
        shape: tuple[int, ...],
        value: np.ndarray,
        part: Part,
        synchronizer: ParameterServer | AllReduce,
        build: "_Build",
    ) -> ServedShard | ShardOptimizer:
        place = build.place
        if isinstance(synchronizer, ParameterServer):
            served = ServedShard(
                name,
                shape,
                self.traced.dtype,
                self.traced.sparse,
                place.nodes.index(synchronizer.destination),
                place,
                synchronizer.local_replication,
                build.strategy.synchronous,
                build.training.optimizer,
                build.training.learning_rate,
            )
            if served.owned_here:
                build.out.initial.append(Kept(served.shard, value, part, saved=True))
                build.out.initial += _slots(served.optimizer, part, saved=True)
            return served
        # The only shard of a variable that has a local copy lives in that copy.
        own = self.copy if len(self.entry.shards) == 1 else None
        local = own or Shard(f"local{OWN}{name}", shape, self.traced.dtype, place.here)
        optimizer = SHARD_OPTIMIZERS[build.training.optimizer](local, build.training.learning_rate)
        if place.rank is not None:
            build.out.initial += _slots(optimizer, part, saved=place.rank == 0)
            if own is None:
                build.out.initial.append(Kept(local, value, part, saved=place.rank == 0))
        return optimizer

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the variable, gathered shard by shard; `ids` [k] without repetition."""
        if len(self.shards) == 1:
            return self._shard_rows(0, ids)
        owner, local = shard_of_rows(ids, self.offsets)
        positions = tf.dynamic_partition(tf.range(tf.size(ids)), owner, len(self.shards))
        rows = [
            self._shard_rows(s, part) for s, part in enumerate(tf.dynamic_partition(local, owner, len(self.shards)))
        ]
        return tf.dynamic_stitch(positions, rows)

    def _shard_rows(self, s: int, ids: tf.Tensor) -> tf.Tensor:
        shard = self.shards[s]
        return shard.pull_rows(ids) if isinstance(shard, ServedShard) else shard.shard.gather(ids)

    def parameter(self) -> tf.Tensor:
        """The whole variable, read from where its shards live."""
        if self.copy is not None:
            return self.copy.read()
        values = [s.shard.read() for s in self.shards]
        return tf.concat(values, self.axis) if len(values) > 1 else values[0]


def _slots(optimizer: ShardOptimizer, part: Part, saved: bool) -> list[Kept]:
    return [
        Kept(shard, first, part.of_slot(slot, shard.shape), saved)
        for slot, (shard, first) in optimizer.initial_values().items()
    ]


@dataclass(frozen=True)
class Training:
    """How a run trains: `optimizer` is a key of `SHARD_OPTIMIZERS`, `seed` moves the model's random generators."""

    optimizer: str
    learning_rate: float
    seed: int = 0


class _Build:
    """What the parts of one build share."""

    def __init__(
        self, traced: TracedModel, strategy: Strategy, place: Place, training: Training, out: StepGraph
    ) -> None:
        self.traced = traced
        self.strategy = strategy
        self.place = place
        self.training = training
        self.out = out
        self.graph_def = tf.compat.v1.GraphDef.FromString(traced.graph_def)
        self.labels = labels(v.name for v in (*traced.trainable, *traced.state))


def build_step_graph(
    traced: TracedModel,
    strategy: Strategy,
    place: Place,
    training: Training,
    run: str,
) -> StepGraph:
    """Build the graph of one process.

    Parameters
    ----------
    traced : TracedModel
    strategy : Strategy
        Valid for the model and the cluster.
    place : Place
        The process.
    training : Training
    run : str
        Names the shared resources of this run: the same on every process, and of no other run.
    """
    graph = tf.Graph()
    out = StepGraph(graph)
    with graph.as_default(), graph.container(run), tf.device(place.here):
        build = _Build(traced, strategy, place, training, out)
        variables = [
            _Variable(t, entry, traced.values[t.name], build)
            for t, entry in zip(traced.trainable, strategy.variables, strict=True)
        ]
        if place.rank is not None:
            _add_replica(build, variables, run)
        for variable in variables:
            for shard in variable.shards:
                if isinstance(shard, ServedShard) and shard.owned_here and strategy.synchronous:
                    out.step.append(shard.serve())
        for variable in variables:
            out.parameters[variable.traced.name] = variable.parameter
    return out


def build_local_graph(traced: TracedModel, place: Place, run: str) -> StepGraph:
    """Build the replica's compute alone, with nothing synchronized and nothing updated (for profiles)."""
    graph = tf.Graph()
    out = StepGraph(graph)
    with graph.as_default(), graph.container(run), tf.device(place.here):
        build = _Build(traced, Strategy((), place.replicas), place, Training("sgd", 0.0), out)
        input_map = {}
        for variable in traced.trainable:
            copy = Shard(f"copy{OWN}{build.labels[variable.name]}", variable.shape, variable.dtype, place.here)
            whole = Part(Key(variable.name, VALUE), variable.shape)
            out.initial.append(Kept(copy, traced.values[variable.name], whole, saved=False))
            input_map[variable.placeholder] = copy.handle
        gradients = _import_step(build, input_map, set())
        out.gradients = [g.values if isinstance(g, Rows) else g for g in gradients]
        out.step = [g.op for g in out.gradients]
    return out


def _add_replica(build: _Build, variables: list[_Variable], run: str) -> None:
    place, out, strategy = build.place, build.out, build.strategy
    input_map, row_reads = _bind_variables(build, variables)
    touched = {name for v in variables if v.reads for name in v.reads.nodes}
    gradients = _import_step(build, input_map, touched)
    credit = PushCredit(strategy.push_credit)
    pieces: dict[tuple[str, str], list[_Piece]] = {}
    # Backward passes make the last layer's gradient first, so pushes and groups are issued in reverse forward order.
    finish: list[Callable[[], list[tf.Operation]]] = []
    pushes: list[tf.Operation] = []
    for variable, gradient in reversed(list(zip(variables, gradients, strict=True))):
        if variable.copy is not None:
            reads = [op for op in variable.copy.handle.consumers() if op.type != "AssignVariableOp"]
        else:
            reads = row_reads[variable.traced.name]
        done = _synchronize(variable, gradient, reads, credit, pieces, run)
        finish.append(done)
    for (name, kind), members in pieces.items():
        _reduce(build, name, kind, members)
    for done in finish:
        pushes += done()
    if not strategy.synchronous and strategy.staleness is not None:
        gate, initial = staleness_gate(place, strategy.staleness, pushes)
        pushes.append(gate)
        out.initializers += initial
    out.step += pushes
    # Horovod has no barrier of its own in graphs: a collective of one number is one.
    out.barrier = hvd.allreduce(tf.zeros([1]), op=hvd.Sum, name=f"{run}/barrier").op


def _bind_variables(
    build: _Build, variables: list[_Variable]
) -> tuple[dict[str, tf.Tensor], dict[str, list[tf.Operation]]]:
    """Tensors of the traced step by what stands in for them, and what reads each variable kept as rows."""
    input_map: dict[str, tf.Tensor] = {}
    row_reads: dict[str, list[tf.Operation]] = {}
    lookups = [x.indices for v in variables if v.reads for x in v.reads.lookups]
    indices = _import_indices(build, lookups)
    input_map |= indices
    for variable in variables:
        if variable.copy is not None:
            input_map[variable.traced.placeholder] = variable.copy.handle
            continue
        assert variable.reads is not None
        for tensor, dtype in variable.reads.shapes:
            input_map[tensor] = tf.constant(variable.traced.shape, tf.as_dtype(dtype))
        asked = [indices[x.indices] for x in variable.reads.lookups]
        flat = tf.concat([tf.reshape(tf.cast(i, tf.int64), [-1]) for i in asked], 0)
        unique, position = tf.unique(flat, out_idx=tf.int64)
        rows = variable.lookup(unique)
        rows.set_shape([None, *variable.traced.shape[1:]])
        row_reads[variable.traced.name] = [rows.op]
        at = 0
        for wanted, lookup in zip(asked, variable.reads.lookups, strict=True):
            here = position[at : at + tf.size(wanted)]
            at = at + tf.size(wanted)
            shape = tf.concat([tf.shape(wanted), variable.traced.shape[1:]], 0)
            gathered = tf.reshape(tf.gather(rows, here), shape)
            gathered.set_shape(wanted.shape.concatenate(variable.traced.shape[1:]))
            input_map[lookup.output] = gathered
    return input_map, row_reads


def _import_indices(build: _Build, tensors: list[str]) -> dict[str, tf.Tensor]:
    """Import the part of the step that computes row ids, before the rest that needs the rows."""
    for inp in build.traced.inputs:
        build.out.inputs[inp.tensor] = tf.compat.v1.placeholder(inp.dtype, inp.shape)
    # Row ids that are an input of the step need no computing.
    direct = {t: build.out.inputs[t] for t in tensors if t in build.out.inputs}
    wanted = sorted(set(tensors) - set(direct))
    if not wanted:
        return direct
    part = tf.compat.v1.graph_util.extract_sub_graph(build.graph_def, [t.split(":")[0] for t in wanted])
    feeds = _present(part, build.out.inputs | _constants(build))
    imported = tf.graph_util.import_graph_def(part, input_map=feeds, return_elements=wanted, name="ids")
    return direct | dict(zip(wanted, imported, strict=True))


def _import_step(build: _Build, input_map: dict[str, tf.Tensor], without: set[str]) -> list[tf.Tensor | Rows]:
    """Import forward and backward `without` some nodes; returns the gradient of each trainable variable."""
    traced, out = build.traced, build.out
    if not out.inputs:
        _import_indices(build, [])
    replacements = dict(input_map) | out.inputs | _constants(build)
    for variable in traced.state:
        state = Shard(f"state{OWN}{build.labels[variable.name]}", variable.shape, variable.dtype, build.place.here)
        value = traced.values[variable.name]
        if variable.is_seed:
            # Every replica draws its own dropout masks.
            value = value + np.asarray(
                (build.place.rank or 0) + build.training.seed * build.place.replicas, value.dtype
            )
        part = Part(Key(variable.name, STATE, build.place.rank), variable.shape)
        out.initial.append(Kept(state, value, part, saved=True))
        replacements[variable.placeholder] = state.handle
    names = [traced.loss]
    for variable in traced.trainable:
        names += [n for n in (variable.gradient, variable.values, variable.indices) if n is not None]
    graph_def = without_nodes(build.graph_def, without)
    elements = tf.graph_util.import_graph_def(
        graph_def,
        input_map=_present(graph_def, replacements),
        return_elements=[*names, *traced.update_ops],
        name="compute",
    )
    by_name = dict(zip(names, elements[: len(names)], strict=True))
    out.loss = by_name[traced.loss]
    out.step += elements[len(names) :]
    gradients: list[tf.Tensor | Rows] = []
    for variable in traced.trainable:
        if variable.gradient is not None:
            gradient = by_name[variable.gradient]
            gradient.set_shape(variable.shape)
            gradients.append(gradient)
        else:
            values, ids = by_name[variable.values or ""], by_name[variable.indices or ""]
            values = tf.reshape(values, [-1, *variable.shape[1:]])
            gradients.append(Rows(values, tf.reshape(tf.cast(ids, tf.int64), [-1])))
    return gradients


def _constants(build: _Build) -> dict[str, tf.Tensor]:
    return {c.tensor: tf.constant(build.traced.values[c.tensor]) for c in build.traced.constants}


def _present(graph_def: Any, replacements: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """The replacements that some node of the graph takes (TensorFlow refuses the others)."""
    taken = {i if ":" in i else f"{i}:0" for node in graph_def.node for i in node.input if not i.startswith("^")}
    return {name: tensor for name, tensor in replacements.items() if name in taken}


def _synchronize(
    variable: _Variable,
    gradient: tf.Tensor | Rows,
    reads: list[tf.Operation],
    credit: PushCredit,
    pieces: dict[tuple[str, str], list[_Piece]],
    run: str,
) -> Callable[[], list[tf.Operation]]:
    """Push parameter-server shards and queue all-reduced ones; the result, called last, makes the operations that end
    the variable's part of the step."""
    values: list[Callable[[], tf.Tensor]] = []
    done: list[Callable[[], tf.Operation]] = []
    parts = _cut(variable, gradient)
    for s, (shard, part) in enumerate(zip(variable.shards, parts, strict=True)):
        if isinstance(shard, ServedShard):
            with tf.control_dependencies(reads if variable.copy is None else []):
                ready = shard.push(part, credit)
            if variable.copy is None:
                done += [partial(_itself, op) for op in ready]
            else:
                values.append(partial(shard.pull, ready))
            continue
        synchronizer = variable.entry.shards[s]
        assert isinstance(synchronizer, AllReduce)
        if isinstance(part, Rows) and synchronizer.sparse_as == "dense":
            dense = tf.math.unsorted_segment_sum(part.values, part.ids, shard.shard.shape[0])
            dense.set_shape(shard.shard.shape)
            part = dense
        kind = "gather" if isinstance(part, Rows) else synchronizer.compressor
        group = f"group{synchronizer.group}" if synchronizer.group is not None else f"single/{variable.label}/{s}"
        piece = _Piece(shard, variable.parts[s], part, reads)
        pieces.setdefault((f"{run}/{group}", kind), []).append(piece)
        in_copy = shard.shard is variable.copy
        if variable.copy is None or in_copy:
            done.append(partial(_update_of, piece))
        else:
            values.append(partial(_read_after, shard.shard, piece))

    def finish() -> list[tf.Operation]:
        operations = [d() for d in done]
        if values:
            pulled = [v() for v in values]
            with tf.control_dependencies(reads):
                whole = tf.concat(pulled, variable.axis) if len(pulled) > 1 else pulled[0]
                assert variable.copy is not None
                operations.append(variable.copy.assign(whole))
        return operations

    return finish


def _itself(operation: tf.Operation) -> tf.Operation:
    return operation


def _update_of(piece: _Piece) -> tf.Operation:
    return piece.update


def _read_after(shard: Shard, piece: _Piece) -> tf.Tensor:
    with tf.control_dependencies([piece.update]):
        return shard.read()


def _cut(variable: _Variable, gradient: tf.Tensor | Rows) -> list[Any]:
    if isinstance(gradient, Rows):
        return list(split_rows(merged(gradient), variable.offsets))
    if variable.entry.axis is None:
        return [gradient]
    lengths = [b - a for a, b in zip(variable.offsets[:-1], variable.offsets[1:], strict=True)]
    return list(tf.split(gradient, lengths, variable.axis))


def _reduce(build: _Build, name: str, kind: str, members: list[_Piece]) -> None:
    """All-reduce or all-gather one group and update its shards."""
    replicas, here = build.place.replicas, build.place.here
    exact = "/single/" not in name
    scope = name.split("/", 1)[1]
    with tf.name_scope(f"allreduce/{scope}"), tf.device(here):
        if kind == "gather":
            results: list[Any] = _gather_rows([m.gradient for m in members], name, exact, replicas)
        else:
            group = WireGroup(f"{name}/{kind}", kind, exact)
            results, updates, initial = group.average([m.gradient for m in members], replicas, here)
            build.out.step += updates
            if initial:
                build.out.initial += [
                    Kept(shard, first, m.part.of_slot(ERROR, shard.shape, build.place.rank), saved=True)
                    for m, (shard, first) in zip(members, initial, strict=True)
                ]
    for member, result in zip(members, results, strict=True):
        with (
            tf.name_scope(f"apply/{scope}"),
            tf.control_dependencies(member.after_reads),
        ):
            if isinstance(result, Rows):
                member.update = member.optimizer.apply_rows(tf.identity(result.values), result.ids)
            else:
                member.update = member.optimizer.apply(tf.identity(result))


def _gather_rows(gradients: list[Any], name: str, exact: bool, replicas: int) -> list[Rows]:
    if exact and len(gradients) > 1:
        values = _grouped_allgather([g.values for g in gradients], f"{name}/values")
        ids = _grouped_allgather([g.ids for g in gradients], f"{name}/ids")
    else:
        values = [hvd.allgather(g.values, name=f"{name}/values/{i}") for i, g in enumerate(gradients)]
        ids = [hvd.allgather(g.ids, name=f"{name}/ids/{i}") for i, g in enumerate(gradients)]
    scale = 1.0 / replicas
    return [Rows(v * constant(scale, v.dtype, v.device), i) for v, i in zip(values, ids, strict=True)]


def _grouped_allgather(tensors: list[tf.Tensor], name: str) -> list[tf.Tensor]:
    """One collective per dtype: only tensors of one dtype can be fused."""
    gathered: dict[int, tf.Tensor] = {}
    for dtype in sorted({t.dtype.name for t in tensors}):
        members = [i for i, t in enumerate(tensors) if t.dtype.name == dtype]
        results = hvd.grouped_allgather([tensors[i] for i in members], name=f"{name}/{dtype}")
        gathered |= dict(zip(members, results, strict=True))
    return [gathered[i] for i in range(len(tensors))]
