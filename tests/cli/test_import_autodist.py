from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autosync_lab as asl
from autosync_lab.study import TrialStore, import_trials
from tests.study.autodist_folder import write_data_set

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data_set(tmp_path / "set")


def test_a_data_set_goes_into_a_store_once(folder: Path, tmp_path: Path, run: Run) -> None:
    code, out, err = run("import-autodist", folder, "--store", tmp_path / "t.db")
    assert code == 0
    assert "measured with AutoDist, not here" in out
    assert ["ncf", "cluster-A", "1"] in [line.split() for line in out.splitlines()]
    assert "3 of 3 trials new" in err
    code, _, err = run("import-autodist", folder, "--store", tmp_path / "t.db")
    assert code == 0
    assert "0 of 3 trials new" in err
    with TrialStore(tmp_path / "t.db") as store:
        assert [t.launcher for t in store.trials()] == ["autodist"] * 3
    code, out, _ = run("trials", tmp_path / "t.db")
    assert code == 0
    assert "imported second" in out


def test_a_data_set_goes_into_a_file(folder: Path, tmp_path: Path, run_json: Callable[..., tuple[int, Any]]) -> None:
    path = tmp_path / "t.parquet"
    code, document = run_json("import-autodist", folder, "--output", path, "--specs", tmp_path / "specs")
    assert code == 0
    assert (document["trials"], document["stored"], document["left_out"]) == (3, 0, [])
    trials = import_trials(path)
    assert [t.step_time_s for t in trials] == [0.375] * 3
    for trial in trials:
        model = asl.load_model(str(tmp_path / "specs" / f"{trial.model}.json"))
        cluster = asl.load_cluster(str(tmp_path / "specs" / f"{trial.cluster}.yml"))
        assert (model.hash, cluster.hash) == (trial.model_hash, trial.cluster_hash)


def test_what_is_left_out_is_told_and_counts(folder: Path, tmp_path: Path, run: Run) -> None:
    damaged = folder / "ncf" / "cluster-A" / "strategies" / "second"
    damaged.write_bytes(b"\xff")
    (folder / "ncf" / "cluster-A" / "extra").write_text("")
    code, _, err = run("import-autodist", folder, "--store", tmp_path / "t.db")
    assert code == 1
    assert f"Left out {damaged}: this is no AutoDist strategy file\n" in err
    assert "2 of 2 trials new" in err
    assert "2 left out" in err


def test_bad_input(folder: Path, tmp_path: Path, run: Run) -> None:
    for words, part in (
        ((folder,), "--store FILE"),
        ((tmp_path / "none", "--store", tmp_path / "t.db"), "a data set is a folder"),
        ((tmp_path, "--store", tmp_path / "t.db"), "no data set of AutoDist"),
        ((folder, "--output", tmp_path / "t.csv"), ".parquet"),
    ):
        code, out, err = run("import-autodist", *words)
        assert (code, out) == (2, "")
        assert part in err
    assert not (tmp_path / "t.db").exists()
