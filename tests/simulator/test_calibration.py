"""`Calibration`: its rules and its file."""

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.simulator import Calibration, CostModel, VirtualRunner
from autosync_lab.simulator.calibration import SHARED_MACHINE
from tests.simulator.cases import model

DOCUMENT = Calibration().to_json()


@pytest.mark.parametrize("calibration", [Calibration(), SHARED_MACHINE, Calibration(push_s=0, step_s=3)])
def test_a_file_brings_back_what_was_written(calibration: Calibration, tmp_path: Path) -> None:
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(calibration.to_json()))
    assert Calibration.read(path) == calibration


def test_what_a_file_leaves_out_is_the_default() -> None:
    document = {"format": "autosync-lab/calibration", "version": 1, "push_s": 0.5}
    assert Calibration.from_json(document) == Calibration(push_s=0.5)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "no calibration"),
        ({}, "no calibration"),
        (DOCUMENT | {"format": "autosync-lab/model"}, "no calibration"),
        (DOCUMENT | {"version": 2}, "calibrations of version 1.*2"),
        (DOCUMENT | {"push": 1.0}, "unknown constant.*did you mean 'push_s'"),
        (DOCUMENT | {"push_s": "fast"}, "push_s"),
    ],
)
def test_documents_that_are_none(document: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Calibration.from_json(document, where="here")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        Calibration.read(tmp_path / "nowhere.json")
    path = tmp_path / "broken.json"
    for text, message in (("{", "no JSON"), ("[" * 100_000, "no JSON"), ('{"format": 1}', "no calibration")):
        path.write_text(text)
        with pytest.raises(InvalidInput, match=message) as error:
            Calibration.read(path)
        assert "broken.json" in str(error.value)


@pytest.mark.parametrize("name", [f.name for f in fields(Calibration)])
@pytest.mark.parametrize("value", [-1.0, math.nan, True, "1", None])
def test_constants_are_numbers_of_0_or_more(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        Calibration(**{name: value})


@pytest.mark.parametrize("name", ["link_efficiency", "stream_bytes_per_s", "flops_per_s", "compute_slowdown"])
def test_what_divides_is_above_0(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Calibration(**{name: 0})


def test_processes_that_share_a_machine_have_other_constants() -> None:
    shared, apart = load_cluster("emulated-4"), load_cluster("cluster-a")
    assert Calibration.typical(shared) == Calibration.typical(load_cluster("local-2")) == SHARED_MACHINE
    assert Calibration.typical(apart) == Calibration()
    for cluster in (shared, apart):
        assert CostModel(model(1), cluster).calibration == Calibration.typical(cluster)
        assert VirtualRunner(cluster).calibration == Calibration.typical(cluster)
