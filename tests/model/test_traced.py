import ml_dtypes
import numpy as np
import pytest

from autosync_lab import InvalidInput
from autosync_lab.model.traced import TracedInput, TracedModel, TracedVariable


def traced() -> TracedModel:
    return TracedModel(
        graph_def=b"\x00graph",
        inputs=(TracedInput("x:0", "int32", (2,)),),
        trainable=(TracedVariable("w", "w_in:0", (2,), "bfloat16", gradient="g:0"),),
        state=(TracedVariable("s", "s_in:0", (), "uint32", is_seed=True),),
        constants=(TracedInput("c:0", "float32", (1, None)),),
        loss="loss:0",
        update_ops=("update",),
        values={
            "w": np.array([1.5, 2.5], ml_dtypes.bfloat16),
            "s": np.array(7, np.uint32),
            "c:0": np.ones((1, 3), np.float32),
        },
        examples=(np.arange(6, dtype=np.int32).reshape(3, 2),),
    )


def test_bytes_round_trip() -> None:
    before, after = traced(), TracedModel.from_bytes(traced().to_bytes())
    for field in ("graph_def", "inputs", "trainable", "state", "constants", "loss", "update_ops"):
        assert getattr(after, field) == getattr(before, field)
    for name, value in before.values.items():
        assert after.values[name].dtype == value.dtype
        np.testing.assert_array_equal(after.values[name], value)
    np.testing.assert_array_equal(after.examples[0], before.examples[0])


def test_replicas_take_turns_with_the_batches() -> None:
    model = traced()
    assert [model.example_index(rank, 2, step) for step in range(3) for rank in range(2)] == [0, 1, 2, 0, 1, 2]
    assert model.batch(1, 2, 0)["x:0"].tolist() == [2, 3]


@pytest.mark.parametrize("data", [b"", b"no archive", traced().to_bytes()[:100]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="no traced model"):
        TracedModel.from_bytes(data)
