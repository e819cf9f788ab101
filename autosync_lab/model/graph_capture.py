"""Tracing one training step into a `TracedModel`: what capturing a Keras model and a function share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autosync_lab.errors import InvalidModel
from autosync_lab.model.flops import graph_flops, ready_shares
from autosync_lab.model.inline_calls import inline_calls
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.touched_rows import touched_rows
from autosync_lab.model.traced import TracedInput, TracedModel, TracedVariable
from autosync_lab.model.unused_name import unused_name
from autosync_lab.model.variable import DTYPE_BYTES, Variable

READ_OPS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "NoOp", "Placeholder"})
"""Operations that a traced function orders like side effects, but that have none."""

RANDOM_OPS = frozenset({"RngReadAndSkip", "RngSkip"})
"""Operations that advance the state of a `tf.random.Generator`."""

PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
"""Operations that call back into the Python process that traced them."""


@dataclass(frozen=True)
class NamedVariable:
    """A TensorFlow variable under the name that people know it by."""

    name: str
    variable: Any
    is_seed: bool = False


@dataclass(frozen=True)
class _Step:
    """A traced step: `graph` has the shapes, `graph_def` the same operations in the order of the trace."""

    graph: Any
    graph_def: Any
    captures: list[tuple[Any, Any]]
    variables: list[Any]
    inputs: list[Any]
    outputs: list[str]
    gradients: list[tuple[str, bool]]
    """(name of the variable, whether its gradient is a set of rows), in the order of `outputs` after the loss."""
    effects: tuple[str, ...]


@dataclass(frozen=True)
class _Captured:
    placeholders: dict[str, tuple[str, Any]]
    """Resource placeholder and variable by the variable's name."""
    constants: tuple[TracedInput, ...]
    values: dict[str, npt.NDArray[Any]]
    notes: tuple[str, ...]


def capture_step(
    loss_function: Callable[..., Any],
    trainable: Sequence[NamedVariable],
    others: Sequence[NamedVariable],
    examples: Sequence[npt.NDArray[Any]],
    name: str,
    notes: Sequence[str] = (),
    *,
    autograph: bool = True,
) -> ModelSpec:
    """Trace forward and backward of one step, once.

    Parameters
    ----------
    loss_function : callable
        Takes the flat inputs of one batch, returns the scalar loss.
    trainable : sequence of NamedVariable
        Those without a gradient are left out, with a note.
    others : sequence of NamedVariable
        Names of variables that are state; more may turn up in the trace.
    examples : sequence of ndarray
        One array per input, batches along axis 0.
    name : str
        The model's name.
    notes : sequence of str
        What is already known to be left out.
    autograph : bool
        Whether Python's `if` and `while` on tensors become part of the step.

    Raises
    ------
    InvalidModel
        If there is no gradient, or the step uses what cannot be sent to a worker.
    """
    where = f"model {name!r}"
    for named in trainable:
        if not named.variable.shape.is_fully_defined():
            raise InvalidModel(
                "a trainable variable has a known shape",
                where=f"variable {named.name!r}",
                received=named.variable.shape,
            )
    step = _trace(loss_function, trainable, examples, where, autograph)
    captured = _captures(step, trainable, others, where)
    _only_optimizers_assign(step, trainable, captured.placeholders)
    traced_trainable = _trainable(step, trainable, captured.placeholders)
    with_gradient = {v.name for v in traced_trainable}
    seeds = {v.name for v in (*trainable, *others) if v.is_seed} | _generators(step, captured.placeholders)
    traced = TracedModel(
        graph_def=step.graph_def.SerializeToString(),
        inputs=tuple(TracedInput(t.name, t.dtype.name, tuple(t.shape.as_list())) for t in step.inputs),
        trainable=traced_trainable,
        state=tuple(
            TracedVariable(n, p, tuple(v.shape.as_list()), v.dtype.name, is_seed=n in seeds)
            for n, (p, v) in captured.placeholders.items()
            if n not in with_gradient
        ),
        constants=captured.constants,
        loss=step.outputs[0],
        update_ops=step.effects,
        values=captured.values,
        examples=tuple(np.ascontiguousarray(stack) for stack in examples),
    )
    rows = touched_rows(traced)
    order = [node.name for node in step.graph_def.node]
    ready = ready_shares(step.graph, order, [v.gradient or v.values or "" for v in traced_trainable])
    without = [
        f"{v.name}: has no gradient, so it is not synchronized" for v in trainable if v.name not in with_gradient
    ]
    return ModelSpec(
        name=name,
        variables=tuple(
            Variable(v.name, v.shape, v.dtype, v.sparse, rows.get(v.name), share)
            for v, share in zip(traced_trainable, ready, strict=True)
        ),
        batch_size=next((stack.shape[1] for stack in examples if stack.ndim > 1), 1),
        flops=graph_flops(step.graph),
        notes=(*notes, *without, *captured.notes),
        tracer=lambda: traced,
    )


def _trace(
    loss_function: Callable[..., Any],
    trainable: Sequence[NamedVariable],
    examples: Sequence[npt.NDArray[Any]],
    where: str,
    autograph: bool,
) -> _Step:
    gradients: list[tuple[str, bool]] = []
    loss_shape: list[Any] = []

    def step(*batch: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            for named in trainable:
                tape.watch(named.variable)
            loss = tf.convert_to_tensor(loss_function(*batch))
        loss_shape[:] = [loss.shape]
        gradients.clear()
        outputs = [tf.identity(loss)]
        found = tape.gradient(loss, [v.variable for v in trainable])
        for named, gradient in zip(trainable, found, strict=True):
            if gradient is None:
                continue
            rows = isinstance(gradient, tf.IndexedSlices)
            gradients.append((named.name, rows))
            outputs += [tf.identity(t) for t in ([gradient.values, gradient.indices] if rows else [gradient])]
        return outputs

    specs = [tf.TensorSpec(stack.shape[1:], stack.dtype) for stack in examples]
    try:
        concrete = tf.function(step, autograph=autograph).get_concrete_function(*specs)
    except InvalidModel:
        raise
    except Exception as error:
        raise InvalidModel(f"the step cannot be traced: {type(error).__name__}: {error}", where=where) from error
    if loss_shape[0].rank != 0:
        raise InvalidModel("the loss is a scalar", where=where, received=f"shape {loss_shape[0]}")
    if not trainable:
        raise InvalidModel("there is no trainable variable", where=where)
    if not gradients:
        raise InvalidModel("no trainable variable has a gradient", where=where, received=[v.name for v in trainable])
    graph = concrete.graph
    captures, inputs = list(graph.captures), graph.inputs[: len(examples)]
    ends = {op.name for op in graph.control_outputs if op.type not in READ_OPS}
    traced = graph.as_graph_def()
    flat = inline_calls(traced)
    _movable(flat, where)
    if flat is not traced:
        graph = tf.Graph()
        with graph.as_default():
            tf.graph_util.import_graph_def(flat, name="")
    return _Step(
        graph=graph,
        graph_def=flat,
        captures=captures,
        variables=list(concrete.graph.variables),
        inputs=inputs,
        outputs=[t.name for t in concrete.outputs],
        gradients=gradients,
        effects=tuple(node.name for node in traced.node if node.name in ends),
    )


def _movable(graph_def: Any, where: str) -> None:
    """Make a graph fit for another process: no device of this one, nothing that needs its Python."""
    for nodes in (graph_def.node, *(f.node_def for f in graph_def.library.function)):
        for node in nodes:
            node.device = ""
            if node.op in PYTHON_OPS:
                raise InvalidModel(
                    "the step calls Python code (tf.py_function, tf.numpy_function), which is not sent to workers; do "
                    "that in the input pipeline instead",
                    where=where,
                    received=node.name,
                )


def _only_optimizers_assign(
    step: _Step, trainable: Sequence[NamedVariable], placeholders: dict[str, tuple[str, Any]]
) -> None:
    """Refuse a forward pass that overwrites what it trains: that would happen on each replica's copy alone."""
    names = {placeholders[v.name][0].split(":")[0]: v.name for v in trainable if v.name in placeholders}
    for node in step.graph_def.node:
        if node.op.startswith(("Assign", "ResourceScatter")):
            name = names.get(node.input[0].split(":")[0])
            if name is not None:
                raise InvalidModel(
                    "the step assigns to a trainable variable (as spectral normalization does); only the optimizer may",
                    where=f"variable {name!r}",
                    received=node.name,
                )


def _captures(
    step: _Step, trainable: Sequence[NamedVariable], others: Sequence[NamedVariable], where: str
) -> _Captured:
    known = {id(v.variable.handle): v for v in (*trainable, *others)}
    unknown = {id(v.handle): v for v in step.variables}
    taken = {v.name for v in known.values()}
    placeholders: dict[str, tuple[str, Any]] = {}
    constants: list[TracedInput] = []
    values: dict[str, npt.NDArray[Any]] = {}
    notes: list[str] = []
    for external, internal in step.captures:
        if internal.dtype == tf.resource:
            named, variable = known.get(id(external)), unknown.get(id(external))
            if named is not None:
                name, variable = named.name, named.variable
            elif variable is not None:
                name = unused_name(variable.name.split(":")[0], taken)
                if variable.trainable:
                    notes.append(f"{name}: is used but not among the trainable variables, so it keeps its value")
            else:
                raise InvalidModel(
                    "the step uses a resource that is no variable (a lookup table, an iterator); do that in the input "
                    "pipeline instead",
                    where=where,
                    received=internal.name,
                )
            placeholders[name] = (internal.name, variable)
            values[name] = variable.numpy()
        elif internal.dtype in (tf.variant, tf.string):
            raise InvalidModel(
                "the step uses a tensor from outside that is not numeric",
                where=where,
                received=f"{internal.name} of dtype {internal.dtype.name}",
            )
        else:
            constants.append(TracedInput(internal.name, internal.dtype.name, tuple(internal.shape.as_list())))
            values[internal.name] = external.numpy()
    return _Captured(placeholders, tuple(constants), values, tuple(notes))


def _trainable(
    step: _Step, trainable: Sequence[NamedVariable], placeholders: dict[str, tuple[str, Any]]
) -> tuple[TracedVariable, ...]:
    """Variables with a gradient, in forward order: that of their first use in the trace."""
    variables = {v.name: v.variable for v in trainable}
    outputs = iter(step.outputs[1:])
    found: list[TracedVariable] = []
    for name, rows in step.gradients:
        shape, dtype = tuple(variables[name].shape.as_list()), variables[name].dtype.name
        if dtype not in DTYPE_BYTES:
            raise InvalidModel("unknown dtype", where=f"variable {name!r}", received=dtype, valid=DTYPE_BYTES)
        variable = TracedVariable(name, placeholders[name][0], shape, dtype)
        if rows:
            found.append(replace(variable, values=next(outputs), indices=next(outputs)))
        else:
            found.append(replace(variable, gradient=next(outputs)))
    first_use: dict[str, int] = {}
    for position, node in enumerate(step.graph_def.node):
        for tensor in node.input:
            first_use.setdefault(tensor.split(":")[0], position)
    return tuple(sorted(found, key=lambda v: first_use[v.placeholder.split(":")[0]]))


def _generators(step: _Step, placeholders: dict[str, tuple[str, Any]]) -> set[str]:
    """Names of variables that hold the state of a `tf.random.Generator`."""
    advanced = {n.input[0].split(":")[0] for n in step.graph_def.node if n.op in RANDOM_OPS}
    return {name for name, (tensor, _) in placeholders.items() if tensor.split(":")[0] in advanced}
