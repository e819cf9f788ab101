"""Knowledge goes through a file unchanged, and a damaged file is refused."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator import Recipe, learn, load_knowledge, make_simulator, save_knowledge
from autosync_lab.simulator.learned import RANKERS
from tests.simulator.learned.cases import pair


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "s.npz"
    save_knowledge(learn([pair()], Recipe("linear")), path)
    return path


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with other values in its document; None removes an array."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    document = json.loads(bytes(arrays["document"]).decode())
    for name, value in changes.items():
        if name in document:
            document[name] = value
        else:
            arrays[f"state/{name}"] = value
    arrays["document"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{k: v for k, v in arrays.items() if v is not None})
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.parametrize("ranker", RANKERS)
def test_it_is_the_same_afterwards(ranker: str, tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    trials = pair(count=12)
    knowledge = learn([trials], Recipe(ranker, "both", True, 3))
    save_knowledge(knowledge, path)
    again = load_knowledge(path)
    assert (again.recipe, again.offset, again.origins) == (knowledge.recipe, knowledge.offset, knowledge.origins)
    assert {k: v.tolist() for k, v in again.state.items()} == {k: v.tolist() for k, v in knowledge.state.items()}
    simulator = make_simulator(str(path), trials.batch.model, trials.batch.cluster)
    assert simulator is not None
    assert simulator.name == str(path)
    assert not np.array_equal(simulator.predict(trials.batch), trials.cost_model.step_time(trials.batch))
    assert list(tmp_path.iterdir()) == [path]


def test_a_cut_file_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for length in (0, 1, 100, len(data) // 2, len(data) - 1):
        saved.write_bytes(data[:length])
        with pytest.raises(InvalidInput, match=r"s\.npz"):
            load_knowledge(saved)


def test_a_flipped_byte_is_refused_or_harmless(saved: Path) -> None:
    data, whole = saved.read_bytes(), load_knowledge(saved)
    for at in range(0, len(data), max(1, len(data) // 60)):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            again = load_knowledge(saved)
        except InvalidInput:
            continue
        # Some bytes of a zip file (dates, for one) mean nothing here.
        assert all(np.array_equal(again.state[name], whole.state[name]) for name in whole.state)


def test_no_pickle_is_read(saved: Path) -> None:
    rewritten(saved, weights=np.asarray([{"a": 1}], object))
    with pytest.raises(InvalidInput, match="damaged"):
        load_knowledge(saved)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 2}, "version 1"),
        ({"format": "other"}, "no simulator"),
        ({"recipe": {"ranker": "none"}}, "damaged"),
        ({"recipe": {"ranker": "gp", "features": "both", "prior": True, "seed": 0}}, "arrays"),
        ({"offset": "x"}, "damaged"),
        ({"origins": [{"model": "m"}]}, "damaged"),
        ({"features": []}, "features that this version does not have"),
        ({"weights": None}, "arrays"),
        ({"more": np.zeros(1)}, "arrays"),
        ({"weights": np.zeros(3)}, "weights"),
        ({"mean": np.asarray(["a"])}, "mean"),
    ],
)
def test_what_does_not_fit_is_refused(saved: Path, changes: dict[str, Any], says: str) -> None:
    rewritten(saved, **changes)
    with pytest.raises(InvalidInput, match=says):
        load_knowledge(saved)


def test_numbers_that_are_none_are_refused(saved: Path) -> None:
    weights = np.array(load_knowledge(saved).state["weights"])
    weights[0] = np.nan
    with pytest.raises(InvalidInput, match="finite"):
        load_knowledge(rewritten(saved, weights=weights))


def test_trees_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    save_knowledge(learn([pair()], Recipe("boosted")), path)
    with pytest.raises(InvalidInput, match="trees"):
        load_knowledge(rewritten(path, trees=np.asarray(["no tree"])))


def test_names_of_files_are_checked(tmp_path: Path) -> None:
    knowledge = learn([pair()], Recipe("linear"))
    for path in (tmp_path / "s.txt", tmp_path / "none" / "s.npz"):
        with pytest.raises(InvalidInput, match="npz"):
            save_knowledge(knowledge, path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_knowledge(tmp_path / "none.npz")
    with pytest.raises(InvalidInput, match="did you mean 'boosted'"):
        make_simulator("boosed", pair().batch.model, pair().batch.cluster)
