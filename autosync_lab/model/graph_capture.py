"""Tracing one training step into a `TracedModel`: what capturing a Keras model and a function share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autosync_lab.errors import InvalidModel
from autosync_lab.model.flops import graph_flops, ready_shares
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.traced import TracedInput, TracedModel, TracedVariable
from autosync_lab.model.variable import DTYPE_BYTES, Variable

READ_OPS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "NoOp", "Placeholder"})
"""Operations that a traced function orders like side effects, but that have none."""

EXAMPLES_FOR_ROWS = 4
"""Batches from which the touched rows of sparse variables are counted."""


@dataclass(frozen=True)
class NamedVariable:
    """A TensorFlow variable under the name that people know it by."""

    name: str
    variable: Any
    is_seed: bool = False


def capture_step(
    loss_function: Callable[..., Any],
    trainable: Sequence[NamedVariable],
    others: Sequence[NamedVariable],
    examples: Sequence[npt.NDArray[Any]],
    name: str,
    notes: Sequence[str] = (),
) -> ModelSpec:
    """Trace forward and backward of one step.

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

    Raises
    ------
    InvalidModel
        If there is no gradient, or the step uses a resource that is no variable.
    """
    structure: list[tuple[str, str]] = []

    def step(*batch: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.convert_to_tensor(loss_function(*batch))
        if loss.shape.rank != 0:
            raise InvalidModel("the loss is a scalar", where=f"model {name!r}", received=f"shape {loss.shape}")
        gradients = tape.gradient(loss, [v.variable for v in trainable])
        structure.clear()
        outputs = [tf.identity(loss)]
        for named, gradient in zip(trainable, gradients, strict=True):
            if gradient is None:
                continue
            if isinstance(gradient, tf.IndexedSlices):
                structure.append((named.name, "rows"))
                outputs += [tf.identity(gradient.values), tf.identity(gradient.indices)]
            else:
                structure.append((named.name, "dense"))
                outputs.append(tf.identity(gradient))
        return outputs

    specs = [tf.TensorSpec(stack.shape[1:], stack.dtype) for stack in examples]
    concrete = tf.function(step).get_concrete_function(*specs)
    graph = concrete.graph
    if not structure:
        raise InvalidModel(
            "no trainable variable has a gradient", where=f"model {name!r}", received=[v.name for v in trainable]
        )
    notes = list(notes)
    with_gradient = {n for n, _ in structure}
    for named in trainable:
        if named.name not in with_gradient:
            notes.append(f"{named.name}: has no gradient, so it is not synchronized")
    placeholders, constants, values = _captures(graph, trainable, others, name)
    outputs = [t.name for t in concrete.outputs]
    traced_trainable = _trainable(graph, trainable, structure, outputs[1:], placeholders)
    known = {v.name for v in traced_trainable}
    seeds = {v.name for v in (*trainable, *others) if v.is_seed}
    state = tuple(
        TracedVariable(n, p, tuple(v.shape.as_list()), v.dtype.name, is_seed=n in seeds)
        for n, (p, v) in placeholders.items()
        if n not in known
    )
    for n, (_, variable) in placeholders.items():
        values[n] = variable.numpy()
    traced = TracedModel(
        graph_def=graph.as_graph_def().SerializeToString(),
        inputs=tuple(
            TracedInput(t.name, t.dtype.name, tuple(t.shape.as_list())) for t in graph.inputs[: len(examples)]
        ),
        trainable=traced_trainable,
        state=state,
        constants=constants,
        loss=outputs[0],
        update_ops=tuple(op.name for op in graph.control_outputs if op.type not in READ_OPS),
        values=values,
        examples=tuple(np.ascontiguousarray(stack) for stack in examples),
    )
    rows = _touched_rows(traced)
    ready = ready_shares(graph, [v.gradient or v.values or "" for v in traced_trainable])
    variables = tuple(
        Variable(v.name, v.shape, v.dtype, v.sparse, rows.get(v.name), share)
        for v, share in zip(traced_trainable, ready, strict=True)
    )
    batch_size = examples[0].shape[1] if examples and examples[0].ndim > 1 else 1
    return ModelSpec(name, variables, int(batch_size), graph_flops(graph), None, tuple(notes), tracer=lambda: traced)


def _captures(
    graph: Any, trainable: Sequence[NamedVariable], others: Sequence[NamedVariable], model: str
) -> tuple[dict[str, tuple[str, Any]], tuple[TracedInput, ...], dict[str, npt.NDArray[Any]]]:
    """Placeholder and variable of each captured variable by name; captured constants and their values."""
    by_handle = {id(v.variable.handle): v for v in (*trainable, *others)}
    unnamed = {id(v.handle): v for v in graph.variables}
    placeholders: dict[str, tuple[str, Any]] = {}
    constants: list[TracedInput] = []
    values: dict[str, npt.NDArray[Any]] = {}
    for external, internal in graph.captures:
        if internal.dtype == tf.resource:
            named = by_handle.get(id(external))
            variable = named.variable if named else unnamed.get(id(external))
            if variable is None:
                raise InvalidModel(
                    "the step uses a resource that is no variable (a lookup table, an iterator); do that in the input "
                    "pipeline instead",
                    where=f"model {model!r}",
                    received=str(internal.name),
                )
            name = named.name if named else _unused(variable.name.split(":")[0], placeholders)
            placeholders[name] = (internal.name, variable)
        elif internal.dtype == tf.variant:
            raise InvalidModel(
                "the step uses a data set or a tensor list from outside",
                where=f"model {model!r}",
                received=internal.name,
            )
        else:
            constants.append(TracedInput(internal.name, internal.dtype.name, tuple(internal.shape.as_list())))
            values[internal.name] = external.numpy()
    return placeholders, tuple(constants), values


def _unused(name: str, taken: dict[str, Any]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _trainable(
    graph: Any,
    trainable: Sequence[NamedVariable],
    structure: list[tuple[str, str]],
    outputs: list[str],
    placeholders: dict[str, tuple[str, Any]],
) -> tuple[TracedVariable, ...]:
    """Variables with a gradient, in forward order: that of their first use in the trace."""
    variables = {v.name: v.variable for v in trainable}
    remaining = iter(outputs)
    found: list[TracedVariable] = []
    for name, kind in structure:
        variable = variables[name]
        shape, dtype = tuple(variable.shape.as_list()), variable.dtype.name
        if dtype not in DTYPE_BYTES:
            raise InvalidModel("unknown dtype", where=f"variable {name!r}", received=dtype, valid=DTYPE_BYTES)
        placeholder = placeholders[name][0]
        if kind == "rows":
            found.append(
                TracedVariable(name, placeholder, shape, dtype, values=next(remaining), indices=next(remaining))
            )
        else:
            found.append(TracedVariable(name, placeholder, shape, dtype, gradient=next(remaining)))
    first_use: dict[str, int] = {}
    for position, op in enumerate(graph.get_operations()):
        for tensor in op.inputs:
            first_use.setdefault(tensor.name, position)
    return tuple(sorted(found, key=lambda v: first_use[v.placeholder]))


def _touched_rows(traced: TracedModel) -> dict[str, float]:
    """Mean number of distinct rows of each sparse variable in one batch, counted on the examples."""
    sparse = [v for v in traced.trainable if v.sparse]
    if not sparse:
        return {}
    with tf.Graph().as_default():
        whole = tf.compat.v1.GraphDef.FromString(traced.graph_def)
        graph_def = tf.compat.v1.graph_util.extract_sub_graph(whole, [v.indices.split(":")[0] for v in sparse])
        used = {i if ":" in i else f"{i}:0" for n in graph_def.node for i in n.input if not i.startswith("^")}
        input_map: dict[str, Any] = {c.tensor: tf.constant(traced.values[c.tensor]) for c in traced.constants}
        initializers = []
        for number, variable in enumerate((*traced.trainable, *traced.state)):
            if variable.placeholder not in used:
                continue
            handle = tf.raw_ops.VarHandleOp(
                dtype=tf.as_dtype(variable.dtype), shape=variable.shape, shared_name=f"v{number}"
            )
            feed = tf.compat.v1.placeholder(tf.as_dtype(variable.dtype), variable.shape)
            assign = tf.raw_ops.AssignVariableOp(resource=handle, value=feed)
            initializers.append((assign, feed, traced.values[variable.name]))
            input_map[variable.placeholder] = handle
        inputs = [tf.compat.v1.placeholder(i.dtype, i.shape) for i in traced.inputs]
        input_map |= {i.tensor: p for i, p in zip(traced.inputs, inputs, strict=True)}
        ids = tf.graph_util.import_graph_def(
            graph_def,
            input_map={k: v for k, v in input_map.items() if k in used},
            return_elements=[v.indices for v in sparse],
            name="",
        )
        counts = []
        with tf.compat.v1.Session() as session:
            for assign, feed, value in initializers:
                session.run(assign, {feed: value})
            for number in range(min(EXAMPLES_FOR_ROWS, len(traced.examples[0]))):
                feed_dict = {p: stack[number] for p, stack in zip(inputs, traced.examples, strict=True)}
                counts.append([len(np.unique(i)) for i in session.run(ids, feed_dict)])
    return dict(zip([v.name for v in sparse], np.mean(counts, axis=0).tolist(), strict=True))
