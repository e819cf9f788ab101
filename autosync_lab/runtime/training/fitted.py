"""`Fitted`: what training gave."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.strategy.spec import Strategy


@dataclass(frozen=True)
class Fitted:
    """A trained model.

    Parameters
    ----------
    model : str
        Its name.
    strategy : Strategy
        What it was last trained with.
    steps : int
        Steps in all.
    first_step : int
        Steps that were already done when this call began (in a checkpoint); 0 if it began from the model's own values.
    losses, step_times_s : tuple of float
        Of each step from `first_step` on: mean loss over replicas, and seconds of the slowest replica.
    parameters : dict of str to ndarray
        Trainable variables by name, whole.
    state : dict of str to ndarray
        Other variables of the replica of rank 0 by name: statistics of batch normalization, random state.
    checkpoint : Path or None
        The checkpoint of the last step.
    notes : tuple of str
        What was left out of the data, and which processes were lost.
    """

    model: str
    strategy: Strategy
    steps: int
    first_step: int
    losses: tuple[float, ...]
    step_times_s: tuple[float, ...]
    parameters: dict[str, npt.NDArray[Any]] = field(repr=False)
    state: dict[str, npt.NDArray[Any]] = field(repr=False)
    checkpoint: Path | None = None
    notes: tuple[str, ...] = ()

    def assign_to(self, keras_model: Any) -> None:
        """Give a Keras model the trained weights, and rank 0's statistics of batch normalization.

        Parameters
        ----------
        keras_model : keras.Model
            The one that was captured with `ModelSpec.from_keras`, or one built by the same code.

        Raises
        ------
        InvalidInput
            If it lacks a trained variable, or has it in another shape; then nothing is assigned.
        """
        from autosync_lab.model.keras_names import variable_names

        names = variable_names(keras_model)
        variables = {names[id(v)]: v for v in keras_model.variables}
        where = f"model {keras_model.name!r}"
        for name, value in self.parameters.items():
            if name not in variables:
                raise InvalidInput("this Keras model lacks a trained variable", where=where, received=name)
            if tuple(variables[name].shape) != value.shape:
                raise InvalidInput(
                    f"the variable {name!r} was trained in shape {list(value.shape)}",
                    where=where,
                    received=list(variables[name].shape),
                )
        for name, value in (self.parameters | self.state).items():
            if name in variables:
                variables[name].assign(value)
