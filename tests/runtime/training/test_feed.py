"""What users feed is checked: wrong data is named by rank and batch."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.model.traced import TracedInput
from autosync_lab.runtime.training.feed import Feed

INPUTS = (TracedInput("x:0", "float32", (4, 3)), TracedInput("ids:0", "int32", (4,)))


def batch(examples: int = 4, number: float = 0.0) -> tuple[Any, ...]:
    return np.full((examples, 3), number, np.float64), np.arange(examples)


def feed_of(*batches: Any, replicas: int = 1) -> Feed:
    return Feed(lambda rank, count: list(batches), replicas, INPUTS)


def test_batches_of_all_ranks_in_turn() -> None:
    def numbered(rank: int, replicas: int) -> Iterator[Any]:
        assert replicas == 3
        return (batch(number=10 * rank + i) for i in range(2))

    feed = Feed(numbered, 3, INPUTS)
    steps = [[arrays[0][0, 0] for arrays in feed.next_step()] for _ in range(2)]
    assert steps == [[0, 10, 20], [1, 11, 21]]


def test_any_structure_in_the_dtypes_of_the_model() -> None:
    import tensorflow as tf

    x, ids = batch()
    for given in [(x, ids), {"a": x, "b": ids}, [(x, None), ids], (tf.constant(x), tf.constant(ids))]:
        arrays = feed_of(given).next_step()[0]
        assert [a.dtype.name for a in arrays] == ["float32", "int32"]
        np.testing.assert_array_equal(arrays[1], ids)


def test_a_smaller_batch_between_whole_ones_is_left_out_and_told() -> None:
    feed = feed_of(batch(number=1), batch(2), batch(number=2), batch(3), batch(number=3))
    assert feed.notes == ()
    assert [feed.next_step()[0][0][0, 0] for _ in range(3)] == [1, 2, 3]
    (note,) = feed.notes
    assert re.match("rank 0: 2 smaller .* the first is batch 1$", note)


def fails() -> Iterator[Any]:
    yield batch()
    raise KeyError("label")


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([batch(), batch(2)], "rank 0, batch 2: too few batches.*1 whole and 1 smaller"),
        ([batch()], "rank 0, batch 1: too few batches.*1 whole and 0 smaller"),
        ([batch(2)], r"rank 0, batch 0, input 'x': .*shape \[4, 3\].*shape \[2, 3\]"),
        ([batch(), batch(2), batch(2)], "rank 0, batch 2, input 'x'"),
        ([batch(), batch(5)], "rank 0, batch 1, input 'x'"),
        ([batch(), (batch()[0][:, :2], batch()[1])], r"rank 0, batch 1, input 'x': .*shape \[4, 2\]"),
        ([batch(), (batch()[0], batch()[1].astype(float))], "batch 1, input 'ids': the model takes int32.*float64"),
        ([batch(), (batch()[0], batch()[1] + 2**40)], "batch 1, input 'ids': a number does not fit into int32"),
        ([batch(), batch()[0]], "rank 0, batch 1: the model takes 2 arrays in a batch .received 1"),
        ([batch(), (batch()[0], ["a", "b", "c", "d"])], "rank 0, batch 1: the model takes 2 arrays"),
        ([batch(), (batch()[0], np.array(["a"] * 4))], "rank 0, batch 1: a batch holds dense arrays of numbers"),
        (fails(), "rank 0, batch 1: the data failed with KeyError: 'label'"),
    ],
)
def test_wrong_data_is_named(batches: Any, message: str) -> None:
    feed = Feed(lambda rank, replicas: batches, 1, INPUTS)
    with pytest.raises(InvalidInput, match=message):
        list(iter(feed.next_step, None))


def test_a_function_that_fails_or_gives_no_batches_is_named() -> None:
    def failing(rank: int, replicas: int) -> Any:
        return [][rank]

    with pytest.raises(InvalidInput, match=r"rank 0, dataset_fn\(0, 2\): the data failed with IndexError"):
        Feed(failing, 2, INPUTS)
    with pytest.raises(InvalidInput, match=r"rank 0: dataset_fn\(rank, replicas\) returns an iterable.*int"):
        Feed(lambda rank, replicas: 5, 1, INPUTS)  # type: ignore[arg-type, return-value]
