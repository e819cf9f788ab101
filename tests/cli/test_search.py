"""space, simulate, search, calibrate and bench, on virtual clusters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autosync_lab as asl
from autosync_lab.simulator import Calibration
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace

Run = Callable[..., tuple[int, str, str]]
RunJson = Callable[..., tuple[int, Any]]


def test_space_says_what_each_constraint_prunes(run_json: RunJson) -> None:
    code, document = run_json("space", "ncf", "cluster-a")
    assert code == 0
    assert [row["constraint"] for row in document["rows"]] == ["valid", *DEFAULT_CONSTRAINTS]
    space = StrategySpace(asl.load_model("ncf"), asl.load_cluster("cluster-a")).constrain(DEFAULT_CONSTRAINTS)
    assert document["log10_size"] == pytest.approx(space.log10_size)


def test_space_without_constraints_is_all_that_is_valid(run_json: RunJson, run: Run) -> None:
    code, document = run_json("space", "ncf", "cluster-a", "--constraint", "none")
    assert code == 0
    assert [row["constraint"] for row in document["rows"]] == ["valid"]
    _, out, _ = run("space", "ncf", "cluster-a")
    assert "load-balance" in out
    assert "(valid)" in out


def test_simulated_times_are_labelled(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    code, out, _ = run("simulate", "vgg16", "cluster-a", "--strategy", "ps", "--strategy", "horovod")
    assert code == 0
    assert "ps (simulated)" in out
    store = tmp_path / "trials.db"
    code, _document = run_json("simulate", "vgg16", "cluster-a", "--store", store, "--trace", tmp_path / "trace.json")
    assert code == 0
    with asl.TrialStore(store) as trials:
        stored = trials.trials()
    assert len(stored) >= 9
    assert all(trial.simulated for trial in stored)
    assert "simulated" in (tmp_path / "trace.json").read_text()


def test_a_search_finds_goes_on_and_says_that_it_is_simulated(run_json: RunJson, run: Run, tmp_path: Path) -> None:
    store, output = tmp_path / "trials.db", tmp_path / "best.json"
    words = ("search", "ncf", "cluster-b", "--store", store, "--batch", 4)
    code, first = run_json(*words, "--trials", 4, "--no-confirm")
    assert code == 0
    assert first["simulated"]
    assert first["speedup"] is None
    code, second = run_json(*words, "--trials", 8, "--output", output)
    assert code == 0
    assert second["speedup"]["simulated"]
    assert second["best"]["step_time_s"] <= min(b["step_time_s"] for b in second["baselines"])
    strategy = asl.build_strategy(output, asl.load_model("ncf"), asl.load_cluster("cluster-b"))
    assert strategy.id == second["best"]["strategy"]["id"]
    with asl.Study.open(store) as study:
        assert sum(r.role == "proposal" for r in study.records) == 8
    code, out, _err = run(*words, "--trials", 8)
    assert code == 0
    assert "(simulated)" in out


def test_a_calibration_changes_what_is_predicted(run_json: RunJson, tmp_path: Path) -> None:
    import json

    path = tmp_path / "slow.json"
    path.write_text(json.dumps(Calibration(step_s=5.0).to_json()))
    _, typical = run_json("simulate", "vgg16", "cluster-a", "--strategy", "ps")
    _, slow = run_json("simulate", "vgg16", "cluster-a", "--strategy", "ps", "--calibration", path)
    difference = slow["trials"][0]["step_time_s"] - typical["trials"][0]["step_time_s"]
    assert difference == pytest.approx(5.0 - Calibration().step_s)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["space", "ncf", "cluster-a", "--constraint", "load-balanse"], ["'load-balanse'", "did you mean"]),
        (["space", "ncf", "cluster-a", "--constraint", "none", "--constraint", "load-balance"], ["stands alone"]),
        (["search", "ncf", "cluster-a", "--algorithm", "genetik"], ["'genetik'", "did you mean 'genetic'"]),
        (["search", "ncf", "cluster-a", "--simulator", "rn"], ["'rn'", "cost-model"]),
        (["search", "ncf", "cluster-a", "--trials", "-1"], ["--trials"]),
        (["simulate", "ncf", "cluster-a", "--calibration", "/none/c.json"], ["/none/c.json"]),
        (["calibrate", "cluster-a"], ["nothing that could be measured"]),
        (["bench", "--candidates", "0"], ["--candidates"]),
    ],
)
def test_mistakes_are_explained(words: list[str], parts: list[str], run: Run) -> None:
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    for part in parts:
        assert part in err


def test_bench_measures_every_case(run_json: RunJson) -> None:
    code, document = run_json("bench", "--candidates", 20, "--repeat", 1)
    assert code == 0
    assert {(r["model"], r["cluster"]) for rows in document["throughput"] for r in rows} >= {
        ("ncf", "cluster-a"),
        ("bert-large", "cluster-b"),
    }
    assert {r["cluster"] for r in document["timelines"]} == {"cluster-b", "1000 nodes"}
    assert all(r["strategies_per_s"] > 0 for rows in document["throughput"] for r in rows)
