"""Capturing a loss function and its variables."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from autosync_lab.errors import InvalidModel
from autosync_lab.model.batches import stack_batches
from autosync_lab.model.graph_capture import NamedVariable, capture_step
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.unused_name import unused_name


def capture_function(function: Any, variables: Sequence[Any], batch: Any, *, name: str) -> ModelSpec:
    """Capture any function of a batch to a scalar loss.

    Parameters
    ----------
    function : callable
        A `tf.function` or a plain function; called with the elements of a batch.
    variables : sequence of tf.Variable or keras.Variable
        The trainable ones. Other variables that the function uses stay local to each replica.
    batch : tuple, or list of tuples, or tf.data.Dataset
        The function's arguments, with real values.
    name : str
        The model's name.

    Returns
    -------
    ModelSpec
        Its variables are called as in TensorFlow; a repeated name gets a number.

    Raises
    ------
    InvalidModel
        If the function is not differentiable in any variable, or uses what cannot be moved to a worker.
    """
    where = f"model {name!r}"
    if not callable(function):
        raise InvalidModel("a function of the batch is needed", where=where, received=type(function).__name__)
    if not isinstance(variables, Sequence):
        raise InvalidModel("variables are a list of tf.Variable", where=where, received=type(variables).__name__)
    batches = stack_batches(batch, where)
    named: list[NamedVariable] = []
    taken: set[str] = set()
    seen: set[int] = set()
    for given in variables:
        variable = given if isinstance(given, tf.Variable) else getattr(given, "value", None)
        if not isinstance(variable, tf.Variable):
            raise InvalidModel("variables are tf.Variable", where=where, received=type(given).__name__)
        label = variable.name.split(":")[0] if variable is given else given.path
        if id(variable) in seen:
            raise InvalidModel("a variable is listed once", where=where, received=label)
        seen.add(id(variable))
        named.append(NamedVariable(unused_name(label, taken), variable))
    # A tf.function's Python body is traced again as part of the step: one trace, and nothing hides in a call.
    plain = getattr(function, "python_function", function)

    def loss(*flat: tf.Tensor) -> Any:
        arguments = batches.pack(flat)
        if isinstance(arguments, tuple | list):
            return plain(*arguments)
        return plain(arguments)

    return capture_step(loss, named, [], batches.stacks, name)
