"""A data set as a folder."""

import json
from pathlib import Path

import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.study.data_set import DataSet
from autosync_lab.study.data_set.data_set import DESCRIPTION_FILE, TRIALS_FILE
from tests.study.fake_measuring import CLUSTER, MODEL
from tests.study.trial_factory import make_trial

PROFILED = MODEL.with_profile(0.25, (0.2, 0.15, 0.1, 0.05))


def _data_set() -> DataSet:
    trials = tuple(
        make_trial(
            name,
            label=name,
            strategy=build_strategy(name, MODEL, CLUSTER),
            model=MODEL.name,
            model_hash=MODEL.hash,
            cluster=CLUSTER.name,
            cluster_hash=CLUSTER.hash,
        )
        for name in ("ps", "horovod")
    )
    return DataSet(
        trials, {MODEL.name: PROFILED}, {CLUSTER.name: CLUSTER}, {CLUSTER.name: Calibration.typical(CLUSTER)}
    )


def test_reading_gives_what_was_written(tmp_path: Path) -> None:
    _data_set().write(tmp_path / "some" / "folder")
    read = DataSet.read(tmp_path / "some" / "folder")
    assert read == _data_set()
    assert read.model(MODEL.name).compute_s == 0.25


def test_trials_of_other_content_are_of_no_pair() -> None:
    one = _data_set()
    stranger = make_trial("x", model=MODEL.name, cluster=CLUSTER.name)
    more = DataSet((*one.trials, stranger), one.models, one.clusters, one.calibrations)
    assert [t.label for t in more.of(MODEL.name, CLUSTER.name)] == ["ps", "horovod"]


def test_an_unknown_name_is_told_with_what_there_is() -> None:
    with pytest.raises(InvalidInput, match="small"):
        _data_set().of("smal", CLUSTER.name)
    with pytest.raises(InvalidInput, match="two-nodes"):
        _data_set().cost_model(MODEL.name, "three-nodes")


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"format": "autosync-lab/data-set", "version": 99}',
        '{"format": "autosync-lab/data-set", "version": 1, "models": []}',
        "[" * 100_000,
    ],
)
def test_a_damaged_description_is_one_clear_error(tmp_path: Path, damage: str) -> None:
    _data_set().write(tmp_path)
    (tmp_path / DESCRIPTION_FILE).write_text(damage)
    with pytest.raises(InvalidInput, match=DESCRIPTION_FILE):
        DataSet.read(tmp_path)


@pytest.mark.parametrize("part", ["models", "clusters", "calibrations"])
@pytest.mark.parametrize("value", [None, 3, "text", [], {"x": 1}, {"x": None}])
def test_a_damaged_part_is_one_clear_error(tmp_path: Path, part: str, value: object) -> None:
    _data_set().write(tmp_path)
    path = tmp_path / DESCRIPTION_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {part: value}))
    with pytest.raises(InvalidInput, match=DESCRIPTION_FILE):
        DataSet.read(tmp_path)


@pytest.mark.parametrize("file", [DESCRIPTION_FILE, TRIALS_FILE])
def test_a_file_that_is_missing_is_named(tmp_path: Path, file: str) -> None:
    _data_set().write(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(InvalidInput, match=file):
        DataSet.read(tmp_path)
