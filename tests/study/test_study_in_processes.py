"""One study, several processes, some of which are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.study import Study
from autosync_lab.study.run_lock import lock_path
from tests.study.fake_measuring import BASELINES, CLUSTER, MODEL, FakeRunner
from tests.study.study_process import N_TRIALS, SETTINGS

ROOT = Path(__file__).parents[2]


def start(mode: str, store: Path, *arguments: object) -> subprocess.Popen[str]:
    program = "tests.study.study_process"
    return subprocess.Popen(
        [sys.executable, "-m", program, mode, str(store), *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    return out


def sequence(study: Study) -> list[Any]:
    return [(r.role, r.round, r.trial.label, r.trial.strategy_id, r.predicted_s) for r in study.records]


def rounds(study: Study) -> list[Any]:
    return [(r.number, r.asks, r.proposals) for r in study.rounds]


@pytest.fixture(scope="module")
def uninterrupted() -> tuple[list[Any], list[Any]]:
    with Study(MODEL, CLUSTER) as study:
        study.run(N_TRIALS, runner=FakeRunner(), **SETTINGS)
        return sequence(study), rounds(study)


# After how many events each process is killed: in the baselines, after a round is written down but before any of it is
# measured, between a trial's start and its end, at an anchor, in the finals.
@pytest.mark.parametrize("kills", [(3, 9, 2, 13, 6), (11, 1, 25, 7, 20)])
def test_a_study_that_is_killed_again_and_again_ends_as_if_it_never_was(
    tmp_path: Path, uninterrupted: tuple[list[Any], list[Any]], kills: tuple[int, ...]
) -> None:
    store = tmp_path / "t.db"
    for count in kills:
        finish(start("run", store, count), -signal.SIGKILL)
        with Study.open(store) as watched:
            assert watched.state in ("interrupted", "new")
            known = sequence(watched)
            assert known == uninterrupted[0][: len(known)]
    with Study.open(store) as study:
        study.run(N_TRIALS, runner=FakeRunner())
        assert (sequence(study), rounds(study)) == uninterrupted
        assert study.state == "ended"
        assert not [e for e in study.events() if e.kind == "history-differs"]
        numbers = [e.number for e in study.events()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len({t.id for t in study.trials}) == len(study.trials)


def test_a_study_that_is_killed_at_any_moment_loses_nothing(
    tmp_path: Path, uninterrupted: tuple[list[Any], list[Any]]
) -> None:
    store = tmp_path / "t.db"
    for trials in (5, 9):
        process = start("run", store, 10**6)
        assert process.stdout
        told = 0
        while told < trials:
            told += process.stdout.readline().strip() == "trial-ended"
        process.kill()
        rest, _ = process.communicate()
        with Study.open(store) as watched:
            ended = [e for e in watched.events() if e.kind == "trial-ended"]
            assert len(watched.trials) == len(ended) >= told + rest.count("trial-ended")
    with Study.open(store) as study:
        study.run(N_TRIALS, runner=FakeRunner())
        assert (sequence(study), rounds(study)) == uninterrupted


def test_a_watcher_follows_a_running_study(tmp_path: Path, uninterrupted: tuple[list[Any], list[Any]]) -> None:
    store = tmp_path / "t.db"
    with Study(MODEL, CLUSTER, store) as study:
        study.run(0, runner=FakeRunner(), **(SETTINGS | {"confirm": False}))
    watchers = [start("watch", store) for _ in range(2)]
    finish(start("run", store, 10**6))
    for watcher in watchers:
        seen = finish(watcher).split()
        with Study.open(store) as study:
            assert seen == [f"{e.number}:{e.kind}" for e in study.events()][: len(seen)]
            assert seen[-1].endswith("study-ended")
            assert len(seen) > len(uninterrupted[0])


def test_another_process_cannot_run_it_at_the_same_time(tmp_path: Path) -> None:
    store = tmp_path / "t.db"
    process = start("wait", store)
    assert process.stdout
    assert process.stdout.readline().strip() == "measuring"
    with Study.open(store) as study:
        assert study.state == "running"
        with pytest.raises(InvalidInput, match="another process is running this study"):
            study.run(N_TRIALS, runner=FakeRunner())
    process.kill()
    process.communicate()
    with Study.open(store) as study:
        assert study.state == "interrupted"
        study.run(1, runner=FakeRunner(), confirm=False)
        assert study.state == "ended"
    assert not lock_path(store, study.name).exists()


def test_ctrl_c_in_the_terminal(tmp_path: Path) -> None:
    store = tmp_path / "t.db"
    process = start("wait", store)
    assert process.stdout
    assert process.stdout.readline().strip() == "measuring"
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    with Study.open(store) as study:
        assert study.state == "stopped"
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_watching_writes_nothing(tmp_path: Path) -> None:
    store = tmp_path / "t.db"
    with Study(MODEL, CLUSTER, store) as study:
        study.run(2, 2, "random", "none", BASELINES, runner=FakeRunner())
    before = store.read_bytes()
    store.chmod(0o444)
    with Study.open(store) as watched:
        assert (len(watched.trials), watched.state) == (25, "ended")
        assert watched.speedup is not None
        watched.to_frame()
    assert store.read_bytes() == before
    assert os.listdir(tmp_path) == ["t.db"]


def test_time_to_open_a_long_study_is_short(tmp_path: Path) -> None:
    with Study(MODEL, CLUSTER, tmp_path / "t.db") as study:
        study.run(300, 50, "random", "none", BASELINES, runner=FakeRunner(), confirm=False)
    begin = time.perf_counter()
    with Study.open(tmp_path / "t.db") as study:
        assert len(study.trials) == 333
        assert len(study.trials) == 333
    assert time.perf_counter() - begin < 2.0
