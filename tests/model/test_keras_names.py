from typing import Any

import keras

from autosync_lab.model.keras_names import variable_names

L = keras.layers


def paths(model: Any) -> list[str]:
    names = variable_names(model)
    return [names[id(v)] for v in model.variables]


def test_automatic_numbers_count_within_the_model() -> None:
    for _ in range(2):
        model = keras.Sequential(
            [keras.Input((3, 3)), L.LSTM(2), L.Dense(2), L.Dropout(0.1), L.Dense(1, use_bias=False)]
        )
        assert paths(model) == [
            "lstm/lstm_cell/kernel",
            "lstm/lstm_cell/recurrent_kernel",
            "lstm/lstm_cell/bias",
            "seed_generator/seed_generator_state",
            "dense/kernel",
            "dense/bias",
            "seed_generator_1/seed_generator_state",
            "dense_1/kernel",
        ]


def test_given_names_stay() -> None:
    model = keras.Sequential(
        [keras.Input((3,)), L.Dense(2, name="dense_7x"), L.Dense(1, name="head_3", use_bias=False)]
    )
    assert paths(model) == ["dense_7x/kernel", "dense_7x/bias", "head_3/kernel"]


def test_both_directions_of_a_recurrent_layer() -> None:
    for _ in range(2):
        model = keras.Sequential([keras.Input((3, 3)), L.Bidirectional(L.GRU(2))])
        assert paths(model)[0] == "bidirectional/forward_gru/gru_cell/kernel"
        assert len(set(paths(model))) == len(model.variables)


def test_layers_of_one_name_get_numbers() -> None:
    inputs = keras.Input((3,))
    models = [keras.Model(inputs, L.Dense(3, name="same", use_bias=False)(inputs)) for _ in range(2)]
    assert paths(keras.Sequential([inputs, *models])) == ["same/kernel", "same/kernel_1"]
