import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import autosync_lab as asl
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime import Trial
from autosync_lab.study import TrialStore
from tests.cli.fake_runner import FakeCluster, FakeRunner

Run = Callable[..., tuple[int, str, str]]
RunJson = Callable[..., tuple[int, Any]]

MEASURE = ("measure", "vgg-mini", "emulated-4")


def out_of_memory(runner: FakeRunner, trial: Trial) -> Trial:
    return replace(
        trial,
        status="failed",
        stage="steps",
        step_times_s=(),
        error="replica 1 on n1 was ended by signal 9",
        exit_code=-9,
        stderr_tail="bad_alloc\nlast words",
    )


def interrupt(runner: FakeRunner, trial: Trial) -> Trial:
    raise KeyboardInterrupt


def pool_gone(runner: FakeRunner, trial: Trial) -> Trial:
    raise ClusterUnavailable("the pool does not come back", stage="start", stderr_tail="bye")


def test_strategies_take_turns_and_every_setting_arrives(fake: FakeCluster, run: Run) -> None:
    code, _, _ = run(
        *MEASURE,
        "--strategy",
        "ps",
        "--strategy",
        "horovod",
        "--repeat",
        2,
        "--steps",
        3,
        "--warmup",
        1,
        "--optimizer",
        "adam",
        "--learning-rate",
        0.5,
        "--seed",
        9,
    )
    assert code == 0
    assert fake.order == ["ps", "horovod", "ps", "horovod"]
    for call in fake.calls:
        assert call | {"label": ""} == {
            "label": "",
            "steps": 3,
            "warmup": 1,
            "seed": 9,
            "optimizer": "adam",
            "learning_rate": 0.5,
            "trace": False,
        }
    assert fake.opened == fake.closed == ["emulated-4"]


def test_the_table_says_what_was_measured(fake: FakeCluster, run: Run) -> None:
    fake.seconds = {"ps": 2.0, "horovod-fp16": 0.25}
    code, out, err = run(*MEASURE, "--strategy", "ps", "--strategy", "horovod-fp16", "--steps", 2)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "2 s" in lines["ps"]
    assert "lossy" not in lines["ps"]
    assert "250 ms" in lines["horovod-fp16"]
    assert "lossy" in lines["horovod-fp16"]
    assert "Starting emulated-4 (emulated): 4 replicas on 4 nodes" in err
    assert "1/2 ps: step time 2 s" in err


def test_json_holds_results_and_trials(fake: FakeCluster, run_json: RunJson) -> None:
    fake.seconds = {"ps": 2.0}
    code, document = run_json(*MEASURE, "--strategy", "ps", "--repeat", 2, "--steps", 2)
    assert code == 0
    (result,) = document["results"]
    assert (result["label"], result["trials"], result["timed_steps"], result["step_time_s"]) == (
        "ps",
        2,
        4,
        2.0,
    )
    assert result["over_bound"] == pytest.approx(2.0 / 0.2)
    model, cluster = asl.load_model("vgg-mini"), asl.load_cluster("emulated-4")
    # One server takes every worker's gradients over one link: the textbook 2 (n-1) M / B, where the server is a worker.
    link = min(cluster.nodes[0].up_bytes_per_s, cluster.nodes[0].down_bytes_per_s)
    assert result["own_bound_s"] == pytest.approx(3 * model.nbytes / link, rel=0.5)
    assert [t["id"] for t in document["trials"]] == ["ps-0", "ps-1"]


def test_a_failure_shows_its_stage_and_log_and_the_others_go_on(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    fake.scripts = {"ps": out_of_memory}
    code, out, _ = run(*MEASURE, "--strategy", "ps", "--strategy", "horovod", "--store", tmp_path / "t.db")
    assert code == 1
    assert "ps failed (stage: steps, exit code -9): replica 1 on n1 was ended by signal 9" in out
    assert "    bad_alloc\n    last words\n" in out
    assert "1 of 1 failed: steps" in out
    with TrialStore(tmp_path / "t.db") as store:
        assert [(t.label, t.status) for t in store.trials()] == [("ps", "failed"), ("horovod", "ok")]


def test_ctrl_c_keeps_what_was_measured_and_closes_the_cluster(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    fake.scripts = {"all-reduce": interrupt}
    words = (*MEASURE, "--strategy", "ps", "--strategy", "all-reduce", "--strategy", "horovod")
    code, out, err = run(*words, "--store", tmp_path / "t.db")
    assert (code, out) == (130, "")
    assert f"Stopped; 1 trial kept in {tmp_path / 't.db'}." in err
    assert "Traceback" not in err
    assert fake.closed == ["emulated-4"]
    with TrialStore(tmp_path / "t.db") as store:
        assert [t.label for t in store.trials()] == ["ps"]
    code, _, err = run(*words)
    assert code == 130
    assert "none is kept, as no --store was given" in err


def test_a_pool_that_does_not_come_back_ends_the_series(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    fake.scripts = {"horovod": pool_gone}
    words = (*MEASURE, "--strategy", "ps", "--strategy", "horovod", "--repeat", 2)
    code, out, err = run(*words, "--store", tmp_path / "t.db")
    assert code == 1
    assert "1 trial kept" in err
    assert "horovod: the pool does not come back (stage: start)\nbye" in err
    assert fake.order == ["ps", "horovod"]
    assert "500 ms" in next(line for line in out.splitlines() if line.startswith("ps ")), "what was measured is shown"


def test_a_cluster_that_cannot_be_started(fake: FakeCluster, run: Run) -> None:
    fake.unavailable = {"emulated-4"}
    code, out, err = run(*MEASURE, "--strategy", "ps")
    assert (code, out) == (1, "")
    assert "no namespaces here (stage: start)" in err
    assert "Operation not permitted" in err


def test_trials_are_readable_while_the_series_runs(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    seen: list[int] = []

    def look(runner: FakeRunner, trial: Trial) -> Trial:
        connection = sqlite3.connect(path)
        seen.append(connection.execute("SELECT count(*) FROM trials").fetchone()[0])
        connection.close()
        return trial

    fake.scripts = {"ps": look, "horovod": look}
    run(*MEASURE, "--strategy", "ps", "--strategy", "horovod", "--repeat", 2, "--store", path)
    assert seen == [0, 1, 2, 3]


def test_a_strategy_file(fake: FakeCluster, run_json: RunJson, tmp_path: Path) -> None:
    strategy = asl.build_strategy("all-reduce", asl.load_model("vgg-mini"), asl.load_cluster("emulated-4"))
    (tmp_path / "mine.json").write_text(strategy.dumps())
    code, document = run_json(*MEASURE, "--strategy", tmp_path / "mine.json")
    assert code == 0
    assert (document["results"][0]["label"], document["results"][0]["strategy_id"]) == ("mine", strategy.id)


@pytest.mark.parametrize("content", [b"{}", b"no json", b"\xff\xfe\x00"])
def test_a_file_that_is_no_strategy(fake: FakeCluster, run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.json").write_bytes(content)
    code, out, err = run(*MEASURE, "--strategy", tmp_path / "mine.json")
    assert (code, out) == (2, "")
    assert "mine.json" in err
    assert err.count("\n") == 1
    assert fake.opened == []


def test_a_strategy_for_another_cluster(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    strategy = asl.build_strategy("ps", asl.load_model("vgg-mini"), asl.load_cluster("local-2"))
    (tmp_path / "mine.json").write_text(strategy.dumps())
    code, _, err = run(*MEASURE, "--strategy", tmp_path / "mine.json")
    assert code == 2
    assert err.count("\n") == 1
    assert fake.opened == []


def test_a_model_known_by_its_variables_only_starts_no_cluster(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(asl.load_model("vgg-mini").to_json()))
    code, _, err = run("measure", path, "emulated-4", "--strategy", "ps")
    assert code == 2
    assert "cannot be run" in err
    assert fake.opened == []


def test_a_trace_is_written_for_chrome(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    code, _, err = run(*MEASURE, "--strategy", "ps", "--trace", tmp_path / "trace.json")
    assert code == 0
    assert "Wrote" in err
    assert fake.calls[0]["trace"] is True
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == ["forward"]
