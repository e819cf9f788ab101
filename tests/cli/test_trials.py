from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autosync_lab.study import TrialStore
from tests.study.trial_factory import make_trial

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    with TrialStore(path) as trials:
        trials.add(make_trial("a" * 32))
        trials.add(make_trial("b" * 32, label="ps", simulated=True))
        trials.add(make_trial("c" * 32, status="failed", stage="build", step_times_s=(), error="no memory\nleft"))
    return path


def test_a_line_per_trial(store: Path, run: Run) -> None:
    code, out, err = run("trials", store)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    first, second, third = (line for line in lines if line.split()[:1] in (["a" * 8], ["b" * 8], ["c" * 8]))
    assert "300 ms" in first
    assert "1.50x" in first
    assert "2026-01-31 12:00:00" in first
    assert "ok, simulated" in second
    assert "simulated" not in first
    assert "failed (build)" in third


def test_csv_holds_every_trial(store: Path, tmp_path: Path, run: Run) -> None:
    code, out, err = run("trials", store, "--csv", tmp_path / "t.csv")
    assert (code, out) == (0, "")
    assert "Wrote 3 trials" in err
    frame = pd.read_csv(tmp_path / "t.csv")
    assert frame["label"].tolist() == ["all-reduce", "ps", "all-reduce"]
    assert frame["simulated"].tolist() == [False, True, False]
    assert frame["error"].tolist()[2] == "no memory\nleft"


def test_json_holds_every_trial(store: Path, run_json: Callable[..., tuple[int, Any]]) -> None:
    code, document = run_json("trials", store)
    assert code == 0
    assert [t["status"] for t in document["trials"]] == ["ok", "ok", "failed"]
    assert document["trials"][2]["step_time_s"] is None


def test_reading_does_not_make_a_store(tmp_path: Path, run: Run) -> None:
    code, out, err = run("trials", tmp_path / "none.db")
    assert (code, out) == (2, "")
    assert "none.db" in err
    assert list(tmp_path.iterdir()) == []
