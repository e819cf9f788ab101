from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from autosync_lab import InvalidInput, ModelSpec
from autosync_lab.model.batches import MAX_BATCHES, stack_batches


def batch(start: int, size: int = 2) -> tuple[Any, Any]:
    return np.arange(start, start + size), {"y": np.ones((size, 3))}


def test_one_batch() -> None:
    found = stack_batches(batch(5), "here")
    assert [s.shape for s in found.stacks] == [(1, 2), (1, 2, 3)]
    x, y = found.pack(["a", "b"])
    assert (x, y) == ("a", {"y": "b"})


@pytest.mark.parametrize("kind", [list, iter], ids=["list", "iterator"])
def test_several_batches(kind: Any) -> None:
    found = stack_batches(kind([batch(0), batch(4)]), "here")
    assert found.stacks[0].tolist() == [[0, 1], [4, 5]]


def test_a_data_set_is_read_up_to_the_limit() -> None:
    data = tf.data.Dataset.range(1000).batch(2).map(lambda x: (x, x)).repeat()
    found = stack_batches(data, "here")
    assert found.stacks[0].shape == (MAX_BATCHES, 2)


def test_batches_of_another_shape_are_left_out() -> None:
    found = stack_batches([batch(0), batch(2, size=1), batch(4)], "here")
    assert found.stacks[0].tolist() == [[0, 1], [4, 5]]


def test_missing_parts_stay_missing() -> None:
    found = stack_batches((np.ones(2), None), "here")
    assert len(found.stacks) == 1
    assert found.pack(["x"]) == ("x", None)


def test_a_keras_data_set_is_read() -> None:
    class Data(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, number: int) -> Any:
            return np.full((2, 4), number, "float32"), np.ones((2, 1), "float32")

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    examples = ModelSpec.from_keras(model, "mse", Data()).traced.examples
    assert examples[0][:, 0, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one batch"),
        ((), "at least one array"),
        ((np.ones((0, 3)),), "a batch is not empty"),
        ((np.array(["a"]),), "turn text into ids"),
        ((tf.ragged.constant([[1], [2, 3]]),), "ragged and sparse"),
        ((tf.cast(np.ones(2), tf.bfloat16),), "in place of bfloat16"),
        (tf.data.Dataset.range(3).batch(2).element_spec, "not its specification"),
    ],
)
def test_mistakes_are_told_clearly(given: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        stack_batches(given, "here")
