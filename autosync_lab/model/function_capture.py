"""Capturing a loss function and its variables."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from autosync_lab.errors import InvalidModel
from autosync_lab.model.batches import stack_batches
from autosync_lab.model.graph_capture import NamedVariable, capture_step
from autosync_lab.model.spec import ModelSpec


def capture_function(function: Any, variables: Sequence[Any], batch: Any, *, name: str) -> ModelSpec:
    """Capture any function of a batch to a scalar loss.

    Parameters
    ----------
    function : callable
        A `tf.function` or a plain function; called with the elements of a batch.
    variables : sequence of tf.Variable
        The trainable ones. Other variables that the function uses stay local to each replica.
    batch : tuple, or list of tuples, or tf.data.Dataset
        The function's arguments, with real values.
    name : str
        The model's name.

    Raises
    ------
    InvalidModel
        If the function is not differentiable in any variable, or uses what cannot be moved to a worker.
    """
    where = f"model {name!r}"
    structure, stacks = stack_batches(batch, where)
    named: list[NamedVariable] = []
    taken: set[str] = set()
    for variable in variables:
        if not isinstance(variable, tf.Variable):
            raise InvalidModel("variables are tf.Variable", where=where, received=type(variable).__name__)
        base = variable.name.split(":")[0]
        unique, number = base, 1
        while unique in taken:
            unique, number = f"{base}_{number}", number + 1
        taken.add(unique)
        named.append(NamedVariable(unique, variable))
    # Traced again inside the step, so that lookups are not hidden in a nested function.
    plain = getattr(function, "python_function", function)

    def loss(*flat: tf.Tensor) -> Any:
        arguments = tf.nest.pack_sequence_as(structure, flat)
        return plain(*arguments) if isinstance(arguments, tuple | list) else plain(arguments)

    return capture_step(loss, named, [], stacks, name)
