"""One store file, several programs at once, some of which are killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autosync_lab.study import TrialStore
from tests.study.trial_factory import make_trial

ROOT = Path(__file__).parents[2]

WRITER = """
import sys
from autosync_lab.study import TrialStore
from tests.study.trial_factory import make_trial
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with TrialStore(path) as store:
    for i in range(count):
        store.add(make_trial(f"{name}-{i}"))
        print(f"{name}-{i}", flush=True)
"""

READER = """
import sys
from autosync_lab.study import TrialStore
from tests.study.trial_factory import make_trial
path, count = sys.argv[1], int(sys.argv[2])
seen, number = [], 0
with TrialStore.open_readonly(path) as store:
    while len(seen) < count:
        new, number = store.changes_since(number)
        seen += new
        assert len(store) >= len(seen)
        assert len(store.step_frame()) >= 6 * len(seen)
assert seen == [make_trial(t.id) for t in seen]
assert len({t.id for t in seen}) == count
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def test_three_readers_follow_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    TrialStore(path).close()
    programs = [start(READER, path, 100) for _ in range(3)] + [start(WRITER, path, "w", 100)]
    for program in programs:
        finish(program)


def test_writers_that_create_the_file_at_the_same_moment_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    for program in [start(WRITER, path, name, 25) for name in "abcd"]:
        finish(program)
    with TrialStore(path) as store:
        assert {t.id for t in store.trials()} == {f"{name}-{i}" for name in "abcd" for i in range(25)}


def test_a_killed_writer_loses_nothing_it_had_added(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    writer = start(WRITER, path, "w", 10**6)
    assert writer.stdout
    added = [writer.stdout.readline().strip() for _ in range(20)]
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    added += rest.split("\n")[:-1]
    with TrialStore(path) as store:
        stored = [t.id for t in store.trials()]
        assert stored[: len(added)] == added == [f"w-{i}" for i in range(len(added))]
        assert len(stored) - len(added) <= 1
        assert store.trials() == [make_trial(name) for name in stored]
        store.add(make_trial("after"))


def test_a_reader_in_the_writers_process_costs_the_writer_nothing(tmp_path: Path) -> None:
    """A process that closes a file of its own loses the locks of its open stores; another then deletes their log."""
    path = tmp_path / "t.db"
    with TrialStore(path) as writer:
        writer.add(make_trial("a"))
        TrialStore.open_readonly(path).close()
        finish(start(WRITER, path, "other", 1))
        writer.add(make_trial("b"))
        finish(start(READER, path, 3))


def test_threads_share_one_store(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as store, ThreadPoolExecutor(3) as threads:

        def write(name: str) -> None:
            for i in range(25):
                store.add(make_trial(f"{name}-{i}"))
                assert f"{name}-{i}" in {t.id for t in store.trials()}

        for done in [threads.submit(write, name) for name in "abc"]:
            done.result()
        assert len(store) == 75


@pytest.fixture
def unwritable_folder() -> Iterator[Path]:
    """A folder that this process, without its privileges, can read but not write."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    user = os.geteuid()
    with TrialStore(folder / "t.db") as store:
        store.add(make_trial())
    folder.chmod(0o555)
    (folder / "t.db").chmod(0o444)
    if user == 0:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_store_that_cannot_be_written_can_be_read(unwritable_folder: Path) -> None:
    with TrialStore.open_readonly(unwritable_folder / "t.db") as store:
        assert store.trials() == [make_trial()]
    assert [p.name for p in unwritable_folder.iterdir()] == ["t.db"]
