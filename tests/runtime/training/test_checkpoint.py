"""Checkpoints are whole, whatever the shards were, and damage is refused."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.runtime.engine.checkpoint import (
    ERROR,
    STATE,
    VALUE,
    Key,
    Part,
    Snapshot,
    pack_parts,
    unpack_parts,
)
from autosync_lab.runtime.training import newest_checkpoint, read_checkpoint
from autosync_lab.runtime.training.checkpoint_folder import About, Checkpoint, write_checkpoint

WEIGHT = np.arange(20.0).reshape(4, 5)
ABOUT = About(7, "m", "h", "s", "c", 2, "adam", 0.1, 0, {"numpy": "2"})


def pieces(slot: str, axis: int, offsets: list[int], rank: int | None = None) -> list[tuple[Part, np.ndarray]]:
    parts = [Part(Key("w/x", slot, rank), WEIGHT.shape, axis, a, b) for a, b in pairwise(offsets)]
    return [(p, WEIGHT[p.index()]) for p in parts]


def snapshot() -> Snapshot:
    return Snapshot(
        {
            Key("w/x", VALUE): WEIGHT,
            Key("w/x", "step"): np.array(3.0),
            Key("half", VALUE): np.ones(3, ml_dtypes.bfloat16),
            **{Key("mean", STATE, r): np.array([float(r)]) for r in range(2)},
            **{Key("seed", STATE, r): np.array([r], np.uint32) for r in range(2)},
            **{Key("w/x", ERROR, r): WEIGHT + r for r in range(2)},
        }
    )


def assert_equal(one: Snapshot, other: Snapshot) -> None:
    assert set(one.arrays) == set(other.arrays)
    for key, array in one.arrays.items():
        assert array.dtype == other.arrays[key].dtype
        np.testing.assert_array_equal(array, other.arrays[key])


@pytest.mark.parametrize(("axis", "offsets"), [(0, [0, 1, 4]), (1, [0, 2, 4, 5])])
def test_parts_make_the_whole_and_the_whole_other_parts(axis: int, offsets: list[int]) -> None:
    sent = unpack_parts(pack_parts(pieces(VALUE, axis, offsets)))
    joined = Snapshot.join(sent)
    np.testing.assert_array_equal(joined.arrays[Key("w/x", VALUE)], WEIGHT)
    for part, array in pieces(VALUE, 1 - axis, [0, 1, 3]):
        np.testing.assert_array_equal(joined.part(part), array)
    assert joined.part(Part(Key("w/x", "momentum"), WEIGHT.shape)) is None


def test_a_missing_part_is_refused_but_of_an_error() -> None:
    with pytest.raises(ValueError, match="value of 'w/x' is not whole"):
        Snapshot.join(pieces(VALUE, 0, [0, 1, 4])[:1])
    error = Snapshot.join(pieces(ERROR, 0, [0, 1, 4], rank=1)[1:]).arrays[Key("w/x", ERROR, 1)]
    np.testing.assert_array_equal(error[1:], WEIGHT[1:])
    assert not error[0].any()


def test_other_replicas_go_on_from_rank_0() -> None:
    same = snapshot()
    assert same.for_replicas(2, ["seed"]) is same
    more = same.for_replicas(3, ["seed"])
    assert more.named(STATE, 1) == {"mean": 1.0, "seed": 1}
    assert more.named(STATE, 2) == {"mean": 0.0}
    assert more.named(ERROR, 0) == {}
    less = same.for_replicas(1, ["seed"])
    assert {k.rank for k in less.arrays} == {None, 0}
    assert less.named(VALUE).keys() == {"w/x", "half"}


def test_a_checkpoint_comes_back_from_its_folder(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None
    for step in (9, 10):
        path = write_checkpoint(tmp_path, Checkpoint(replace(ABOUT, step=step), snapshot()))
        assert path == tmp_path / f"step-{step}"
    (tmp_path / ".step-11.partial").mkdir()
    assert newest_checkpoint(tmp_path) == path
    read = read_checkpoint(path)
    assert read.about == replace(ABOUT, step=10)
    assert_equal(read.snapshot, snapshot())
    assert read.state["mean"] == 0.0
    with np.load(path / "arrays.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["array0"], WEIGHT)


def test_damage_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, Checkpoint(ABOUT, snapshot()))
    arrays, about = path / "arrays.npz", path / "checkpoint.json"
    good, document = arrays.read_bytes(), json.loads(about.read_text())
    arrays.write_bytes(good[:-1])
    with pytest.raises(InvalidInput, match=r"step-7: this checkpoint is damaged \(arrays.npz is not what was written"):
        read_checkpoint(path)
    arrays.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_checkpoint(path)
    arrays.write_bytes(good)
    for text, message in [
        ("{", "damaged .checkpoint.json is no JSON"),
        ("[]", "this is no checkpoint"),
        (json.dumps(document | {"version": 2}), "reads checkpoints of version 1 .received 2"),
        (json.dumps({k: v for k, v in document.items() if k != "optimizer"}), "damaged .* lacks 'optimizer'"),
    ]:
        about.write_text(text)
        with pytest.raises(InvalidInput, match=message):
            read_checkpoint(path)


def test_another_model_or_optimizer_is_refused() -> None:
    from tests.runtime.training.small_models import small_model

    traced = small_model().traced
    values = {Key(v.name, VALUE): traced.values[v.name] for v in traced.trainable}
    fits = Checkpoint(ABOUT, Snapshot(values))
    fits.check_fits(traced, "adam", "here")
    with pytest.raises(InvalidInput, match=r"here: this checkpoint was trained with adam.*Valid: adam"):
        fits.check_fits(traced, "sgd", "here")
    lacks = Snapshot({k: a for k, a in values.items() if k.variable != "bias"})
    with pytest.raises(InvalidInput, match="only the model has the variable 'bias'"):
        Checkpoint(ABOUT, lacks).check_fits(traced, "adam", "here")
    with pytest.raises(InvalidInput, match="only the checkpoint has the variable 'w/x'"):
        Checkpoint(ABOUT, Snapshot(values | {Key("w/x", VALUE): WEIGHT})).check_fits(traced, "adam", "here")
    narrow = Snapshot(values | {Key("bias", VALUE): np.zeros(4, np.float32)})
    with pytest.raises(InvalidInput, match=r"'bias' is float64 of shape .4. in the model"):
        Checkpoint(ABOUT, narrow).check_fits(traced, "adam", "here")
