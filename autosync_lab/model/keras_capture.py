"""Capturing a Keras model."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from autosync_lab.errors import InvalidModel
from autosync_lab.model.batches import stack_batches
from autosync_lab.model.graph_capture import NamedVariable, capture_step
from autosync_lab.model.spec import ModelSpec

SEED_NAME = "seed_generator_state"
"""How Keras calls the state of its random generators."""


def capture_keras(model: Any, loss: Any, batch: Any, *, name: str | None = None) -> ModelSpec:
    """Capture one training step of a Keras model; the model itself is left as it was.

    Parameters
    ----------
    model : keras.Model
        Any: sequential, functional, subclassed, nested. One that is not built yet is built on the batch.
    loss : str, keras.losses.Loss, callable, or dict or list of these per output, or None
        None: the sum of what the model adds with `add_loss`, or its output where that is a scalar.
    batch : (x, y), (x, y, sample_weight), or a list or tf.data.Dataset of these
        Real values; x and y may be nested. With loss None also just x.
    name : str, optional
        The model's own name if None.

    Returns
    -------
    ModelSpec

    Raises
    ------
    InvalidModel
        Naming what cannot be captured.
    """
    if keras.backend.backend() != "tensorflow":
        raise InvalidModel(
            "Keras must run on TensorFlow: set KERAS_BACKEND=tensorflow before it is imported",
            received=keras.backend.backend(),
        )
    if not isinstance(model, keras.Model):
        raise InvalidModel("this is no Keras model", received=type(model).__name__)
    name = name or model.name
    where = f"model {name!r}"
    structure, stacks = stack_batches(batch, where)
    x, _, _ = _parts(structure, loss, where)
    if not model.built:
        model(x)
    loss_of = _loss(loss, where)
    notes = []
    if keras.config.dtype_policy().name.startswith("mixed_float16") or getattr(
        getattr(model, "dtype_policy", None), "name", ""
    ).startswith("mixed_float16"):
        notes.append("mixed_float16: the loss is not scaled, so small gradients may vanish")

    def step(*flat: tf.Tensor) -> Any:
        inputs, targets, weights = _parts(tf.nest.pack_sequence_as(structure, flat), loss, where)
        outputs = model(inputs, training=True)
        total = loss_of(targets, outputs, weights)
        for extra in model.losses:
            term = tf.reduce_sum(extra)
            total = term if total is None else total + tf.cast(term, total.dtype)
        if total is None:
            raise InvalidModel("a loss is needed: the model adds none itself", where=where)
        return total

    names = _unique_names(model)
    trainable = {id(v) for v in model.trainable_variables}
    seeds = {id(v) for v in model.variables if v.path.endswith(SEED_NAME)}
    named = [
        (id(v) in trainable, NamedVariable(n, v.value, id(v) in seeds))
        for n, v in zip(names, model.variables, strict=True)
    ]
    return capture_step(
        tf.autograph.experimental.do_not_convert(step),
        [n for is_trainable, n in named if is_trainable],
        [n for is_trainable, n in named if not is_trainable],
        stacks,
        name,
        notes,
    )


def _unique_names(model: Any) -> list[str]:
    """Keras's variable paths without the model's own name; repeated ones numbered."""
    names: list[str] = []
    taken: set[str] = set()
    for variable in model.variables:
        base = variable.path.removeprefix(f"{model.name}/")
        unique, number = base, 1
        while unique in taken:
            unique, number = f"{base}_{number}", number + 1
        taken.add(unique)
        names.append(unique)
    return names


def _parts(batch: Any, loss: Any, where: str) -> tuple[Any, Any, Any]:
    if isinstance(batch, tuple) and len(batch) == 3:
        return batch
    if isinstance(batch, tuple) and len(batch) == 2:
        return *batch, None
    if loss is None:
        return batch[0] if isinstance(batch, tuple) and len(batch) == 1 else batch, None, None
    raise InvalidModel(
        "a batch is (x, y) or (x, y, sample_weight)", where=where, received=f"a {type(batch).__name__} of {len(batch)}"
    )


def _loss(loss: Any, where: str) -> Callable[[Any, Any, Any], Any]:
    """A function of (targets, outputs, weights) to a scalar, or to None if there is nothing to add."""
    if loss is None:
        return lambda _, outputs, __: _scalar_output(outputs)
    if isinstance(loss, dict):
        parts = {key: _loss(part, where) for key, part in loss.items()}

        def of_dict(targets: Any, outputs: Any, weights: Any) -> Any:
            if not isinstance(outputs, dict) or set(parts) - set(outputs):
                received = sorted(outputs) if isinstance(outputs, dict) else type(outputs).__name__
                raise InvalidModel(
                    f"the losses {sorted(parts)} name the model's outputs", where=where, received=received
                )
            return _sum(
                part(targets[key], outputs[key], weights[key] if isinstance(weights, dict) else weights)
                for key, part in parts.items()
            )

        return of_dict
    if isinstance(loss, list | tuple):
        listed = [_loss(part, where) for part in loss]

        def of_list(targets: Any, outputs: Any, weights: Any) -> Any:
            flat_outputs, flat_targets = tf.nest.flatten(outputs), tf.nest.flatten(targets)
            if not len(flat_outputs) == len(flat_targets) == len(listed):
                raise InvalidModel(
                    f"{len(listed)} losses need as many outputs and targets",
                    where=where,
                    received=f"{len(flat_outputs)} outputs, {len(flat_targets)} targets",
                )
            each = weights if isinstance(weights, list | tuple) else [weights] * len(listed)
            return _sum(part(t, o, w) for part, t, o, w in zip(listed, flat_targets, flat_outputs, each, strict=True))

        return of_list
    try:
        function = keras.losses.get(loss) if isinstance(loss, str) else loss
    except ValueError:
        raise InvalidModel("Keras knows no loss of this name", where=where, received=loss) from None
    if not callable(function):
        raise InvalidModel("a loss is a name, a Loss or a function", where=where, received=type(loss).__name__)

    def of_one(targets: Any, outputs: Any, weights: Any) -> Any:
        if isinstance(function, keras.losses.Loss):
            return tf.reduce_mean(function(targets, outputs, sample_weight=weights))
        outputs_list = tf.nest.flatten(outputs)
        if len(outputs_list) == 1:
            values = function(targets, outputs)
            if weights is not None:
                values = values * tf.cast(weights, values.dtype)
            return tf.reduce_mean(values)
        return _sum(tf.reduce_mean(function(t, o)) for t, o in zip(tf.nest.flatten(targets), outputs_list, strict=True))

    return of_one


def _scalar_output(outputs: Any) -> Any:
    flat: Sequence[Any] = tf.nest.flatten(outputs)
    return flat[0] if len(flat) == 1 and flat[0].shape.rank == 0 else None


def _sum(terms: Any) -> Any:
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + tf.cast(term, total.dtype)
    return total
