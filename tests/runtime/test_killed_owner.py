"""A killed notebook kernel leaves no process; its folder is reaped by the next run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autosync_lab.runtime.run_folder import RunFolder, reap, start_time

OWNER = """
import sys, time
import autosync_lab as asl
runner = asl.open_cluster(asl.load_cluster("local-2"))
print(runner.launcher.server_pid, *runner.worker_pids.values(), flush=True)
time.sleep(600)
"""


@pytest.mark.cluster
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_ended_owner_leaves_no_process(how: signal.Signals, tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 3
    os.kill(owner.pid, how)
    owner.wait(timeout=30)
    deadline = time.monotonic() + 15
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
    if how == signal.SIGINT:
        assert list(tmp_path.iterdir()) == []


def test_the_reaper_kills_what_a_dead_owner_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    child = subprocess.Popen(["sleep", "600"])
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        folder = RunFolder()
        folder.record(child.pid)
        document = (folder.path / "owner.json").read_text()
        assert reap() == []
        assert folder.path.exists()
        # The owner's pid now belongs to a process that started at another time; so does the innocent's.
        own = f"[{os.getpid()}, {start_time(os.getpid())}]"
        document = document.replace(own, f"[{os.getpid()}, 1]")
        document = document.replace('"processes": [', f'"processes": [[{innocent.pid}, 1], ')
        (folder.path / "owner.json").write_text(document)
        assert reap() == [child.pid]
        assert child.wait(timeout=5) == -signal.SIGKILL
        assert innocent.poll() is None
        assert not folder.path.exists()
    finally:
        child.kill()
        innocent.kill()
        child.wait()
        innocent.wait()


def test_the_reaper_leaves_strange_folders_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    strange = tmp_path / "autosync-lab-run-strange"
    strange.mkdir()
    (strange / "owner.json").write_text("not json")
    assert reap() == []
    assert strange.exists()
