"""One process on the concatenated batch: what every lossless synchronous strategy must equal.

Written apart from the engine: gradients of the traced step, summed in NumPy, and Keras's own formulas in NumPy.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autosync_lab.model.traced import TracedModel

Arrays = dict[str, npt.NDArray[Any]]


def concatenated_training(
    traced: TracedModel, replicas: int, steps: int, optimizer: str, learning_rate: float
) -> Arrays:
    """Parameters after training one process on the replicas' batches put together (mean of their gradients)."""
    parameters = {v.name: traced.values[v.name].astype(np.float64) for v in traced.trainable}
    slots: dict[str, Arrays] = {name: {} for name in parameters}
    gradient_of = _gradients(traced)
    for step in range(steps):
        totals = {name: np.zeros_like(value) for name, value in parameters.items()}
        for rank in range(replicas):
            for name, gradient in gradient_of(parameters, traced.batch(rank, replicas, step)).items():
                totals[name] += gradient / replicas
        for name in parameters:
            parameters[name] = _update(optimizer, parameters[name], totals[name], slots[name], step + 1, learning_rate)
    return parameters


def _gradients(traced: TracedModel) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        graph_def = tf.compat.v1.GraphDef.FromString(traced.graph_def)
        used = {i if ":" in i else f"{i}:0" for n in graph_def.node for i in n.input}
        input_map: dict[str, Any] = {c.tensor: tf.constant(traced.values[c.tensor]) for c in traced.constants}
        feeds, assigns = {}, {}
        for number, variable in enumerate((*traced.trainable, *traced.state)):
            handle = tf.raw_ops.VarHandleOp(
                dtype=tf.as_dtype(variable.dtype), shape=variable.shape, shared_name=f"reference{number}"
            )
            feeds[variable.name] = tf.compat.v1.placeholder(tf.as_dtype(variable.dtype), variable.shape)
            assigns[variable.name] = tf.raw_ops.AssignVariableOp(resource=handle, value=feeds[variable.name])
            input_map[variable.placeholder] = handle
        inputs = {i.tensor: tf.compat.v1.placeholder(i.dtype, i.shape) for i in traced.inputs}
        names = []
        for variable in traced.trainable:
            names += [n for n in (variable.gradient, variable.values, variable.indices) if n]
        tensors = tf.graph_util.import_graph_def(
            graph_def,
            input_map={k: v for k, v in (input_map | inputs).items() if k in used},
            return_elements=names,
            name="",
        )
    by_name = dict(zip(names, tensors, strict=True))
    session = tf.compat.v1.Session(graph=graph)
    for variable in traced.state:
        session.run(assigns[variable.name], {feeds[variable.name]: traced.values[variable.name]})

    def run(parameters: Arrays, batch: Arrays) -> Arrays:
        session.run(
            [assigns[n] for n in parameters],
            {feeds[n]: v.astype(feeds[n].dtype.as_numpy_dtype) for n, v in parameters.items()},
        )
        values = session.run(by_name, {inputs[k]: v for k, v in batch.items() if k in inputs})
        gradients = {}
        for variable in traced.trainable:
            if variable.gradient:
                gradients[variable.name] = values[variable.gradient].astype(np.float64)
                continue
            dense = np.zeros(variable.shape)
            rows = values[variable.values].reshape(-1, *variable.shape[1:])
            np.add.at(dense, values[variable.indices].reshape(-1), rows)
            gradients[variable.name] = dense
        return gradients

    return run


def _update(
    optimizer: str, value: npt.NDArray[Any], gradient: npt.NDArray[Any], slots: Arrays, step: int, rate: float
) -> npt.NDArray[Any]:
    if optimizer == "sgd":
        return value - rate * gradient
    if optimizer == "momentum":
        slots["m"] = 0.9 * slots.get("m", 0.0) - rate * gradient
        return value + slots["m"]
    if optimizer == "adam":
        slots["m"] = 0.9 * slots.get("m", 0.0) + 0.1 * gradient
        slots["v"] = 0.999 * slots.get("v", 0.0) + 0.001 * gradient**2
        corrected = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        return value - corrected * slots["m"] / (np.sqrt(slots["v"]) + 1e-7)
    if optimizer == "adagrad":
        slots["a"] = slots.get("a", 0.1) + gradient**2
        return value - rate * gradient / np.sqrt(slots["a"] + 1e-7)
    raise ValueError(optimizer)
