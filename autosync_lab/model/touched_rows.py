"""How many rows of each sparse variable one batch touches, counted by running the step's lookups on its examples."""

from typing import Any

import numpy as np
import tensorflow as tf

from autosync_lab.model.traced import TracedModel


def touched_rows(traced: TracedModel) -> dict[str, float]:
    """Mean number of distinct rows of each sparse variable in one of the example batches, by variable name."""
    sparse = [v for v in traced.trainable if v.sparse]
    if not sparse:
        return {}
    with tf.Graph().as_default(), tf.device("/CPU:0"):
        graph_def = _only_what_makes(traced.graph_def, [v.indices or "" for v in sparse])
        used = {i if ":" in i else f"{i}:0" for n in graph_def.node for i in n.input if not i.startswith("^")}
        replaced: dict[str, Any] = {c.tensor: tf.constant(traced.values[c.tensor]) for c in traced.constants}
        initial = []
        for number, variable in enumerate((*traced.trainable, *traced.state)):
            if variable.placeholder not in used:
                continue
            handle = tf.raw_ops.VarHandleOp(
                dtype=tf.as_dtype(variable.dtype), shape=variable.shape, shared_name=f"variable{number}"
            )
            value = tf.compat.v1.placeholder(tf.as_dtype(variable.dtype), variable.shape)
            assign = tf.raw_ops.AssignVariableOp(resource=handle, value=value)
            initial.append((assign, value, traced.values[variable.name]))
            replaced[variable.placeholder] = handle
        inputs = [tf.compat.v1.placeholder(i.dtype, i.shape) for i in traced.inputs]
        replaced |= {i.tensor: p for i, p in zip(traced.inputs, inputs, strict=True)}
        indices = tf.graph_util.import_graph_def(
            graph_def,
            input_map={name: tensor for name, tensor in replaced.items() if name in used},
            return_elements=[v.indices for v in sparse],
            name="",
        )
        counts = []
        with tf.compat.v1.Session() as session:
            for assign, fed, value in initial:
                session.run(assign, {fed: value})
            for number in range(len(traced.examples[0])):
                feed = {p: stack[number] for p, stack in zip(inputs, traced.examples, strict=True)}
                counts.append([np.unique(rows).size for rows in session.run(indices, feed)])
    # Examples that touch no row at all say nothing about others: one row is the least that can be planned for.
    means: list[float] = [float(mean) or 1.0 for mean in np.mean(counts, axis=0)]
    return dict(zip([v.name for v in sparse], means, strict=True))


def _only_what_makes(graph_def: bytes, tensors: list[str]) -> Any:
    """The part of a graph that some tensors depend on."""
    whole = tf.compat.v1.GraphDef.FromString(graph_def)
    nodes = {node.name: node for node in whole.node}
    needed: set[str] = set()
    stack = [tensor.split(":")[0] for tensor in tensors]
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.add(name)
            stack += [i.lstrip("^").split(":")[0] for i in nodes[name].input]
    del whole.node[:]
    whole.node.extend(node for name, node in nodes.items() if name in needed)
    return whole
