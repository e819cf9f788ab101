"""The loss of a Keras model, from what `keras.Model.compile` takes as `loss`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from autosync_lab.errors import InvalidModel

LossFunction = Callable[[Any, Any, Any], Any]
"""From (targets, outputs, sample weights or None) to a scalar, or to None if there is nothing to add."""

SHORT_NAMES = ("mae", "mape", "mse", "msle")
"""Names that Keras takes for losses and that are no functions of its module."""


def loss_function(loss: Any, output_names: Sequence[str], where: str) -> LossFunction:
    """Make one function of a loss.

    Parameters
    ----------
    loss : None, str, keras.losses.Loss, callable, or dict or list of these
        As for `keras.Model.compile`; one loss for several outputs applies to each of them. None: the model's output, if
        it is a scalar.
    output_names : sequence of str
        Names of the model's outputs, for a dict of losses; empty if they have none.
    where : str
        What errors call it.

    Raises
    ------
    InvalidModel
        If it is no loss; when called, if losses, outputs and targets do not fit.
    """
    if loss is None:
        return lambda _, outputs, __: _scalar(outputs)
    if isinstance(loss, Mapping):
        named = {key: _single(part, where) for key, part in loss.items() if part is not None}

        def of_named(targets: Any, outputs: Any, weights: Any) -> Any:
            by_name = _named(outputs, output_names)
            unknown = sorted(set(loss) - set(by_name))
            if unknown:
                raise InvalidModel(
                    "a loss names an output of the model", where=where, received=unknown[0], valid=sorted(by_name)
                )
            goals = _named(targets, output_names)
            missing = sorted(set(named) - set(goals))
            if missing:
                raise InvalidModel("an output with a loss needs a target", where=where, received=missing[0])
            shares = _named(weights, output_names) if isinstance(weights, dict | list | tuple) else {}
            return total(
                part(goals[key], by_name[key], shares.get(key) if shares else weights) for key, part in named.items()
            )

        return of_named
    if isinstance(loss, list | tuple):
        listed = [None if part is None else _single(part, where) for part in loss]

        def of_listed(targets: Any, outputs: Any, weights: Any) -> Any:
            flat_outputs, flat_targets = tf.nest.flatten(outputs), tf.nest.flatten(targets)
            if not len(flat_outputs) == len(flat_targets) == len(listed):
                raise InvalidModel(
                    f"{len(listed)} losses need as many outputs and targets",
                    where=where,
                    received=f"{len(flat_outputs)} outputs, {len(flat_targets)} targets",
                )
            shares = weights if isinstance(weights, list | tuple) else [weights] * len(listed)
            return total(
                part(t, o, w) for part, t, o, w in zip(listed, flat_targets, flat_outputs, shares, strict=True) if part
            )

        return of_listed
    single = _single(loss, where)

    def of_each(targets: Any, outputs: Any, weights: Any) -> Any:
        flat_outputs, flat_targets = tf.nest.flatten(outputs), tf.nest.flatten(targets)
        if len(flat_outputs) == 1:
            return single(flat_targets[0] if len(flat_targets) == 1 else targets, flat_outputs[0], weights)
        if len(flat_outputs) != len(flat_targets):
            raise InvalidModel(
                "each output needs a target",
                where=where,
                received=f"{len(flat_outputs)} outputs, {len(flat_targets)} targets",
            )
        shares = tf.nest.flatten(weights) if isinstance(weights, dict | list | tuple) else [weights] * len(flat_outputs)
        return total(single(t, o, w) for t, o, w in zip(flat_targets, flat_outputs, shares, strict=True))

    return of_each


def total(terms: Any) -> Any:
    """Sum of the terms that are not None, in the dtype of the first; None if there is none."""
    result = None
    for term in terms:
        if term is not None:
            result = term if result is None else result + tf.cast(term, result.dtype)
    return result


class _Averaged(keras.losses.Loss):
    """A plain loss function, averaged and masked as Keras does it."""

    def __init__(self, function: Any, dtype: str) -> None:
        super().__init__(name="loss", dtype=dtype)
        self.function = function

    def call(self, y_true: Any, y_pred: Any) -> Any:
        # A target [n] meets an output [n, 1] as [n, 1]; broadcasting would make it [n, n].
        if len(y_true.shape) + 1 == len(y_pred.shape) and y_pred.shape[-1] == 1:
            y_true = keras.ops.expand_dims(y_true, -1)
        elif len(y_true.shape) == len(y_pred.shape) + 1 and y_true.shape[-1] == 1:
            y_true = keras.ops.squeeze(y_true, -1)
        return self.function(y_true, y_pred)


def _single(loss: Any, where: str) -> LossFunction:
    function = loss
    if isinstance(loss, str):
        try:
            function = keras.losses.get(loss)
        except ValueError:
            # The functions of the module are the losses, besides these three.
            known = {n for n in dir(keras.losses) if n.islower() and not n.startswith("_")}
            valid = sorted({*known, *SHORT_NAMES} - {"get", "serialize", "deserialize"})
            raise InvalidModel("Keras knows no loss of this name", where=where, received=loss, valid=valid) from None
    if not callable(function):
        raise InvalidModel("a loss is a name, a keras.losses.Loss or a function", where=where, received=loss)

    def scalar(targets: Any, outputs: Any, weights: Any) -> Any:
        if targets is None:
            raise InvalidModel("a loss needs targets: the batch is (x, y)", where=where)
        known = function
        if not isinstance(function, keras.losses.Loss):
            # Keras computes a loss in its default dtype; a float64 model keeps its precision.
            double = getattr(outputs, "dtype", None) == tf.float64
            known = _Averaged(function, "float64" if double else keras.config.floatx())
        value = known(targets, outputs, sample_weight=weights)
        if value.shape.rank != 0:
            raise InvalidModel("a loss is reduced to a scalar", where=where, received=f"shape {value.shape}")
        return value

    return scalar


def _named(structure: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(structure, Mapping):
        return dict(structure)
    flat = tf.nest.flatten(structure)
    return dict(zip(names, flat, strict=True)) if len(flat) == len(names) else {}


def _scalar(outputs: Any) -> Any:
    flat = tf.nest.flatten(outputs)
    return flat[0] if len(flat) == 1 and flat[0].shape.rank == 0 else None
