import json
from collections.abc import Callable
from typing import Any

import pytest

from autosync_lab import runtime
from autosync_lab.cli import main
from autosync_lab.runtime import peers
from tests.cli.fake_runner import FakeCluster


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """Every cluster that a command opens is this one."""
    script = FakeCluster()
    monkeypatch.setattr(runtime, "open_cluster", script.open)
    monkeypatch.setattr(peers, "measure_peer", script.peer)
    return script


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: exit code, stdout, stderr."""

    def run_command(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return run_command


@pytest.fixture
def run_json(run: Callable[..., tuple[int, str, str]]) -> Callable[..., Any]:
    """Run a command with --json: exit code and the document that is all of stdout."""

    def run_command(*words: object) -> tuple[int, Any]:
        code, out, _ = run(*words, "--json")
        return code, json.loads(out)

    return run_command
