"""Commands on real clusters: real processes, real steps, real signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autosync_lab.cli.demo import BUILDERS
from autosync_lab.study import TrialStore

pytestmark = pytest.mark.cluster


@contextmanager
def command(*words: object, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command in a session of its own, as a shell starts it, with `folder` for its temporary files."""
    process = subprocess.Popen(
        [sys.executable, "-m", "autosync_lab.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def family(pid: int) -> dict[int, int]:
    """Pid and start time of every descendant of a process."""
    parents: dict[int, list[tuple[int, int]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append((int(path.parent.name), int(fields[19])))
    found: dict[int, int] = {}
    waiting = [pid]
    while waiting:
        for child, start in parents.get(waiting.pop(), []):
            found[child] = start
            waiting.append(child)
    return found


def alive(processes: dict[int, int]) -> list[int]:
    """Those that still run; one that has ended and only waits to be collected does not."""
    still = []
    for pid, start in processes.items():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[19]) == start and fields[0] not in "ZX":
            still.append(pid)
    return still


def test_measure(tmp_path: Path) -> None:
    words = [
        "measure",
        "vgg-mini",
        "local-2",
        "--strategy",
        "ps",
        "--strategy",
        "horovod",
        "--steps",
        "3",
        "--json",
    ]
    with command(*words, "--store", tmp_path / "t.db", folder=tmp_path) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    document = json.loads(out)
    assert [(r["label"], r["timed_steps"], r["failed"]) for r in document["results"]] == [
        ("ps", 3, 0),
        ("horovod", 3, 0),
    ]
    assert all(r["step_time_s"] > 0 and not r["simulated"] for r in document["results"])
    assert "Traceback" not in err
    with TrialStore(tmp_path / "t.db") as store:
        assert [t.id for t in store.trials()] == [t["id"] for t in document["trials"]]
        assert store.step_frame()["worker"].nunique() == 2
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_profile(tmp_path: Path) -> None:
    with command("profile", "vgg-mini", "local-2", "--json", folder=tmp_path) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    document = json.loads(out)
    ready = [row["ready_s"] for row in document["ready"]]
    assert len(ready) > 3
    assert document["compute_s"] > 0
    assert min(ready) > 0


def test_demo(tmp_path: Path) -> None:
    with command("demo", "--json", "--store", tmp_path / "t.db", folder=tmp_path) as process:
        out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    document = json.loads(out)
    assert [r["label"] for r in document["results"]] == list(BUILDERS)
    assert all(r["failed"] == 0 and r["step_time_s"] > 0 for r in document["results"])
    assert "was fastest" in document["conclusion"]
    with TrialStore(tmp_path / "t.db") as store:
        assert len(store) == len(BUILDERS)


@pytest.mark.parametrize(
    ("cluster", "to_group"), [("local-2", False), ("emulated-4", True)], ids=["one process", "whole terminal"]
)
def test_ctrl_c_in_the_middle_of_a_trial_leaves_nothing_but_the_trials(
    tmp_path: Path, cluster: str, to_group: bool
) -> None:
    words = ["measure", "vgg-mini", cluster, "--strategy", "ps", "--steps", "3", "--repeat", "1000"]
    with command(*words, "--store", tmp_path / "t.db", folder=tmp_path) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("2/1000 ps: step time"):
                break
        else:
            pytest.fail("no trial ended")
        workers = family(process.pid)
        assert len(workers) >= 2
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert f"kept in {tmp_path / 't.db'}" in err
    deadline = time.monotonic() + 5
    while alive(workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(workers) == []
    with TrialStore(tmp_path / "t.db") as store:
        assert len(store) >= 2
        assert {t.status for t in store.trials()} == {"ok"}
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_ctrl_c_while_the_cluster_starts(tmp_path: Path) -> None:
    with command("measure", "vgg-mini", "local-2", "--strategy", "ps", folder=tmp_path) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("Starting local-2 (local)")
        deadline = time.monotonic() + 30
        while not (workers := family(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    deadline = time.monotonic() + 5
    while alive(workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(workers) == []
    assert list(tmp_path.iterdir()) == []
