"""Names of a Keras model's variables that are unique, and the same however often the model was built."""

import re
from collections.abc import Iterator
from typing import Any

from autosync_lab.model.unused_name import unused_name

SEED_GENERATOR = "seed_generator"
SEED_STATE = "seed_generator_state"
"""How Keras calls its random generators and their state."""


def variable_names(model: Any) -> dict[int, str]:
    """Name of each variable of a model, by the `id` of the Keras variable.

    A name is Keras's path without the model's own name. Keras numbers layers that were given no name through the whole
    session (dense, dense_1, ...); here that number counts within the model, so that a notebook cell that is run twice
    gives the same names. Repeated names are numbered.
    """
    renamed = _automatic_names(model)
    names: dict[int, str] = {}
    taken: set[str] = set()
    for variable in model.variables:
        parts = variable.path.removeprefix(f"{model.name}/").split("/")
        names[id(variable)] = unused_name("/".join(renamed.get(part, part) for part in parts), taken)
    return names


def _automatic_names(model: Any) -> dict[str, str]:
    """What to call the layers and random generators whose name Keras made up, by that name."""
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    for layer in flat_layers(model):
        kind = _snake_case(type(layer).__name__)
        # Bidirectional prefixes the name of the layer that it copies.
        match = re.fullmatch(rf"((?:forward_|backward_)?{re.escape(kind)})(_\d+)?", layer.name)
        if match and layer.name not in renamed:
            renamed[layer.name] = unused_name(match[1], taken)
    for variable in model.variables:
        for part in variable.path.split("/"):
            if re.fullmatch(rf"{SEED_GENERATOR}(_\d+)?", part) and part not in renamed:
                renamed[part] = unused_name(SEED_GENERATOR, taken)
    return renamed


def flat_layers(model: Any) -> Iterator[Any]:
    """Every layer inside a model, also those inside other layers."""
    # Keras has no public way to walk layers that are not in `model.layers`, such as the cells of recurrent layers.
    yield from model._flatten_layers(include_self=False, recursive=True)


def _snake_case(name: str) -> str:
    """A class's name as Keras writes it in automatic names: MyLSTMCell is my_lstm_cell."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
