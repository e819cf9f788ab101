import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.simulator import Calibration, VirtualRunner, load_knowledge
from autosync_lab.space import StrategySpace
from autosync_lab.strategy import build_strategy
from autosync_lab.study import TrialStore
from autosync_lab.study.parquet import export_trials
from tests.study.trial_factory import make_trial

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulated trials of two pairs, and one of a model that nobody knows."""
    path = tmp_path_factory.mktemp("rank") / "t.db"
    with TrialStore(path) as trials:
        trials.add(make_trial("a" * 32))
        for name in ("emulated-4", "emulated-hetero-4"):
            model, cluster = load_model("ncf-small"), load_cluster(name)
            with VirtualRunner(cluster, Calibration()) as runner:
                for strategy in StrategySpace(model, cluster).sample(16, 0):
                    trials.add(runner.measure(model, strategy, steps=1, label="random"))
                baseline = build_strategy("ps-load-balanced", model, cluster)
                trials.add(runner.measure(model, baseline, steps=1, label="ps-load-balanced"))
    return path


def test_every_simulator_is_ranked(store: Path, run: Run) -> None:
    code, out, err = run("rank", store, "--seeds", 1)
    assert code == 0
    assert "(of simulated times)" in out
    for name in ("cost-model", "corrected", "linear", "gp", "boosted"):
        assert any(line.split()[:1] == [name] for line in out.splitlines())
        assert f"{name}: ranked 2 splits" in err
    assert "ncf-small on emulated-hetero-4" in out
    assert "Left out vgg-mini on local-2" in err


def test_json_holds_every_score(store: Path, run_json: Callable[..., tuple[int, Any]]) -> None:
    code, document = run_json("rank", store, "--simulator", "linear", "--split", "pair", "--train", 0, "--seeds", 1)
    assert code == 0
    (name,) = document["simulators"]
    assert name == "linear"
    found = document["simulators"]["linear"]
    assert [(s["pair"], s["trained"], s["others"], s["tested"]) for s in found["pairs"]] == [
        ("ncf-small on emulated-4", 0, 17, 17),
        ("ncf-small on emulated-hetero-4", 0, 17, 17),
    ]
    assert found["overall"]["simulated"] is True
    assert 0.5 < found["overall"]["accuracy"] <= 1.0
    assert document["noise"] is None
    assert document["left_out"] == ["vgg-mini on local-2"]


def test_a_data_set_says_the_same_as_its_store(
    store: Path, tmp_path: Path, run_json: Callable[..., tuple[int, Any]]
) -> None:
    with TrialStore.open_readonly(store) as trials:
        export_trials(trials.trials(), tmp_path / "t.parquet")
    words = ("--simulator", "corrected", "--seeds", 1)
    of_store, of_file = (run_json("rank", path, *words)[1]["simulators"] for path in (store, tmp_path / "t.parquet"))
    assert of_store == of_file


def test_constants_of_clusters_are_used(store: Path, tmp_path: Path, run_json: Callable[..., tuple[int, Any]]) -> None:
    for name in ("emulated-4", "emulated-hetero-4"):
        (tmp_path / f"{name}.json").write_text(json.dumps(Calibration().to_json()))
    words = ("--simulator", "cost-model", "--seeds", 1)
    _, right = run_json("rank", store, *words, "--calibrations", tmp_path)
    _, typical = run_json("rank", store, *words)
    right, typical = (d["simulators"]["cost-model"]["overall"] for d in (right, typical))
    assert right["accuracy"] == 1.0
    assert right["error"] < 1e-6 < typical["error"]


def test_what_it_learned_starts_a_search(store: Path, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "s.npz"
    code, _, err = run("rank", store, "--simulator", "gp", "--seeds", 1, "--save", file)
    assert code == 0
    assert f"Wrote {file}" in err
    assert [o.trials for o in load_knowledge(file).origins] == [17, 17]
    words = ("--trials", 2, "--batch", 1, "--no-confirm", "--store", tmp_path / "s.db")
    code, out, _ = run("search", "ncf-small", "cluster-b", "--simulator", file, *words)
    assert code == 0
    assert "simulated" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--simulator", "gpp"), "did you mean 'gp'"),
        (("--simulator", "gp", "--features", "row"), "did you mean 'raw'"),
        (("--split", "node"), "unknown split"),
        (("--save", "s.npz"), "one --simulator"),
        (("--simulator", "cost-model", "--save", "s.npz"), "one --simulator"),
        (("--calibrations", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_are_told(store: Path, words: tuple[str, ...], says: str, run: Run) -> None:
    code, out, err = run("rank", store, *words)
    assert (code, out) == (2, "")
    assert says in err


def test_too_few_trials_are_told(tmp_path: Path, run: Run) -> None:
    with TrialStore(tmp_path / "t.db") as trials:
        trials.add(make_trial("a" * 32))
    code, _, err = run("rank", tmp_path / "t.db")
    assert code == 2
    assert "4 strategies" in err
    assert run("rank", tmp_path / "none.db")[0] == 2
