"""The folder of one running cluster, and the reaper of what a killed owner left behind."""

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

PREFIX = "autosync-lab-run-"


class RunFolder:
    """A private temporary folder that names its owner and the processes started for it.

    Making one first reaps the folders of owners that are gone: recorded processes are killed, folders removed.
    """

    def __init__(self) -> None:
        reap()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._processes: list[list[int]] = []
        self._write()

    def record(self, pid: int) -> None:
        """Remember a process that must not outlive the owner."""
        started = start_time(pid)
        if started is not None:
            self._processes.append([pid, started])
            self._write()

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _write(self) -> None:
        owner = [os.getpid(), start_time(os.getpid())]
        document = {"owner": owner, "processes": self._processes}
        (self.path / "owner.json").write_text(json.dumps(document))


def reap() -> list[int]:
    """Kill the recorded processes of owners that are gone, and remove their folders.

    A process is known by its pid and start time, so a later process that got the same pid is left alone.

    Returns
    -------
    list of int
        The pids that were killed.
    """
    killed: list[int] = []
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            document = json.loads((folder / "owner.json").read_text())
            owner = (int(document["owner"][0]), int(document["owner"][1]))
            processes = [(int(pid), int(started)) for pid, started in document["processes"]]
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            continue
        if start_time(owner[0]) == owner[1]:
            continue
        for pid, started in processes:
            if start_time(pid) == started:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        shutil.rmtree(folder, ignore_errors=True)
    return killed


def start_time(pid: int) -> int | None:
    """Start of a process in clock ticks since boot; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command, in parentheses, may hold spaces; field 22 (here the 20th after it) is the start time.
    return int(stat.rpartition(")")[2].split()[19])
