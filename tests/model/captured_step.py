"""Running a captured step as a worker does: imported into a fresh graph, its variables bound to local ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autosync_lab import ModelSpec
from autosync_lab.model import TracedModel

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class StepResult:
    """Loss, dense gradient of each trainable variable, and the state afterwards, by name."""

    loss: Array
    gradients: dict[str, Array]
    state: dict[str, Array]


def run_captured(traced: TracedModel, example: int = 0) -> StepResult:
    """Run one step on one of the examples, after a trip through bytes."""
    traced = TracedModel.from_bytes(traced.to_bytes())
    with tf.Graph().as_default():
        graph_def = tf.compat.v1.GraphDef.FromString(traced.graph_def)
        taken = {i if ":" in i else f"{i}:0" for n in graph_def.node for i in n.input if not i.startswith("^")}
        replaced: dict[str, Any] = {c.tensor: tf.constant(traced.values[c.tensor]) for c in traced.constants}
        initial, handles = [], {}
        for number, variable in enumerate((*traced.trainable, *traced.state)):
            dtype = tf.as_dtype(variable.dtype)
            handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=variable.shape, shared_name=f"v{number}")
            value = tf.constant(traced.values[variable.name])
            initial.append(tf.raw_ops.AssignVariableOp(resource=handle, value=value))
            replaced[variable.placeholder] = handles[variable.name] = handle
        feed = {}
        for given, stack in zip(traced.inputs, traced.examples, strict=True):
            replaced[given.tensor] = tf.compat.v1.placeholder(given.dtype, given.shape)
            feed[replaced[given.tensor]] = stack[example]
        names = [traced.loss, *traced.update_ops]
        for variable in traced.trainable:
            names += [n for n in (variable.gradient, variable.values, variable.indices) if n]
        elements = tf.graph_util.import_graph_def(
            graph_def, {k: v for k, v in replaced.items() if k in taken}, names, name="step"
        )
        found = dict(zip(names, elements, strict=True))
        fetched = {
            v.name: (found[v.values], found[v.indices]) if v.sparse else found[v.gradient] for v in traced.trainable
        }
        reads = {v.name: tf.raw_ops.ReadVariableOp(resource=handles[v.name], dtype=v.dtype) for v in traced.state}
        with tf.compat.v1.Session() as session:
            session.run(initial)
            updates = [found[n] for n in traced.update_ops]
            loss, gradients, _ = session.run([found[traced.loss], fetched, updates], feed)
            state = session.run(reads)
    shapes = {v.name: v.shape for v in traced.trainable}
    dense = {n: dense_rows(*g, shapes[n]) if isinstance(g, tuple) else g for n, g in gradients.items()}
    return StepResult(loss, dense, state)


def dense_rows(values: Array, rows: Array, shape: tuple[int, ...]) -> Array:
    """The dense form of a set of rows."""
    result = np.zeros(shape, values.dtype)
    np.add.at(result, rows.reshape(-1), values.reshape(-1, *shape[1:]))
    return result


def eager_gradients(loss: Any, tape: Any, variables: dict[str, Any]) -> dict[str, Array]:
    """Dense gradients by name, without the variables that have none."""
    gradients = tape.gradient(loss, variables)
    return {n: tf.convert_to_tensor(g).numpy() for n, g in gradients.items() if g is not None}


def check_keras(model: Any, loss: Any, batch: Any, rtol: float = 1e-5) -> ModelSpec:
    """Capture a model; compare one step with what Keras itself computes: loss, every gradient, and the new state."""
    from autosync_lab.model.keras_names import variable_names

    was_built = model.built
    before = [v.numpy() for v in model.variables]
    spec = ModelSpec.from_keras(model, loss, batch, name="model")
    if was_built:
        for variable, value in zip(model.variables, before, strict=True):
            np.testing.assert_array_equal(variable.numpy(), value, err_msg=variable.path)
    captured = run_captured(spec.traced)
    x, y, weights = (*batch, None) if len(batch) == 2 else batch
    names = variable_names(model)
    model.compile(loss=loss)
    with tf.GradientTape() as tape:
        outputs = model(x, training=True)
        expected = model.compute_loss(x=x, y=y, y_pred=outputs, sample_weight=weights)
    gradients = eager_gradients(expected, tape, {names[id(v)]: v.value for v in model.trainable_variables})
    assert_same_step(captured, expected, gradients, rtol)
    after = {names[id(v)]: v.numpy() for v in model.variables}
    assert captured.state.keys() <= after.keys()
    for name, value in captured.state.items():
        np.testing.assert_allclose(value, after[name], rtol=rtol, atol=rtol, err_msg=name)
    return spec


def assert_same_step(captured: StepResult, loss: Any, gradients: dict[str, Array], rtol: float = 1e-5) -> None:
    """Loss and gradients agree; an error is measured against the gradient's largest element."""
    np.testing.assert_allclose(captured.loss, np.asarray(loss), rtol=rtol)
    assert captured.gradients.keys() == gradients.keys()
    for name, gradient in gradients.items():
        scale = float(np.abs(gradient.astype(np.float64)).max())
        got = captured.gradients[name].astype(np.float64)
        np.testing.assert_allclose(got, gradient.astype(np.float64), rtol=0, atol=rtol * scale, err_msg=name)
