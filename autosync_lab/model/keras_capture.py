"""Capturing a Keras model."""

from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from autosync_lab.errors import InvalidModel
from autosync_lab.model.batches import stack_batches
from autosync_lab.model.graph_capture import NamedVariable, capture_step
from autosync_lab.model.keras_loss import loss_function, total
from autosync_lab.model.keras_names import SEED_STATE, flat_layers, variable_names
from autosync_lab.model.spec import ModelSpec


def capture_keras(model: Any, loss: Any, batch: Any, *, name: str | None = None) -> ModelSpec:
    """Capture one training step of a Keras model: forward in training mode, loss, regularizers, backward.

    The model keeps its weights, statistics and random state. One that is not built yet is built on the batch.

    Parameters
    ----------
    model : keras.Model
        Any: sequential, functional, subclassed, nested.
    loss : str, keras.losses.Loss, callable, or dict or list of these per output, or None
        As for `keras.Model.compile`. None: the sum of what the model adds with `add_loss`, and of its output where that
        is a scalar.
    batch : (x, y), (x, y, sample_weight), or a list, iterator or tf.data.Dataset of these, or a keras.utils.PyDataset
        Real values; x and y may be nested. With loss None also just x. Up to 16 batches are kept as examples.
    name : str, optional
        The model's own name if None.

    Returns
    -------
    ModelSpec
        Its variables are called by their Keras paths; see `autosync_lab.model.keras_names`.

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
    if isinstance(batch, keras.utils.PyDataset):
        batch = _batches_of(batch)
    batches = stack_batches(batch, where)
    _parts(batches.first, loss, where)

    def unpack(flat: Any) -> tuple[Any, Any, Any]:
        return _parts(batches.pack(flat), loss, where)

    notes = []
    if not all(layer.built for layer in (model, *flat_layers(model))):
        known = len(model.variables)
        _build(model, unpack, [tf.TensorSpec(s.shape[1:], s.dtype) for s in batches.stacks], where)
        if len(model.variables) > known:
            notes.append("the model was not built: its weights were made when it was captured")
    notes += _notes(model)
    main_loss = loss_function(loss, getattr(model, "output_names", ()), where)

    def step(*flat: tf.Tensor) -> Any:
        inputs, targets, weights = unpack(flat)
        outputs = model(inputs, training=True)
        value = total([main_loss(targets, outputs, weights), *(tf.reduce_sum(term) for term in model.losses)])
        if value is None:
            raise InvalidModel("a loss is needed: the model adds none itself", where=where)
        return value

    names = variable_names(model)
    trainable = {id(v) for v in model.trainable_variables}
    named = {id(v): NamedVariable(names[id(v)], v.value, v.path.endswith(SEED_STATE)) for v in model.variables}
    try:
        return capture_step(
            step,
            [n for key, n in named.items() if key in trainable],
            [n for key, n in named.items() if key not in trainable],
            batches.stacks,
            name,
            notes,
            # Keras traces its training step so too: what trains with `fit` is captured, and nothing else.
            autograph=False,
        )
    finally:
        # A trace leaves its losses behind in the layers, as graph tensors that nobody else can use.
        model._clear_losses()


def _batches_of(data: Any) -> Iterator[Any]:
    for number in range(data.num_batches or 1):
        yield data[number]


def _build(model: Any, unpack: Any, specs: list[Any], where: str) -> None:
    """Make the weights of a model by a trace: unlike a call, that changes no state."""
    try:
        tf.function(lambda *flat: model(unpack(flat)[0]), autograph=False).get_concrete_function(*specs)
    except InvalidModel:
        raise
    except Exception as error:
        raise InvalidModel(
            f"the model cannot be built on the batch: {type(error).__name__}: {error}", where=where
        ) from error


def _notes(model: Any) -> list[str]:
    notes = []
    policies = {layer.dtype_policy.name for layer in (model, *flat_layers(model))}
    if "mixed_float16" in policies:
        notes.append("mixed_float16: the loss is not scaled, so small gradients may vanish")
    notes += [
        f"the model's own {method} is not used: a step is forward, loss and backward"
        for method in ("train_step", "compute_loss")
        if getattr(type(model), method) is not getattr(keras.Model, method)
    ]
    constrained = sorted(v.path for v in model.trainable_variables if getattr(v, "constraint", None) is not None)
    if constrained:
        notes.append(f"constraints are not applied after updates: {', '.join(constrained)}")
    return notes


def _parts(batch: Any, loss: Any, where: str) -> tuple[Any, Any, Any]:
    """x, y and sample weights of a batch."""
    if isinstance(batch, tuple) and len(batch) == 3:
        return batch
    if isinstance(batch, tuple) and len(batch) == 2:
        return *batch, None
    if loss is None:
        return batch[0] if isinstance(batch, tuple) and len(batch) == 1 else batch, None, None
    size = f" of {len(batch)}" if isinstance(batch, tuple | list | dict) else ""
    raise InvalidModel(
        "a batch is (x, y) or (x, y, sample_weight)", where=where, received=f"{type(batch).__name__}{size}"
    )
