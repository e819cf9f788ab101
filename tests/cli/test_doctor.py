from collections.abc import Callable
from typing import Any

import pytest

from autosync_lab import doctor
from autosync_lab.doctor import Check

Run = Callable[..., tuple[int, str, str]]

FINE = Check("TensorFlow", "ok", "2.21.0")
OFF = Check("Chromium", "warning", "not found", "apt-get install chromium")
GONE = Check("Horovod", "missing", "not installed", "make setup")


def test_a_machine_where_everything_is_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_checks", lambda: [FINE, OFF])
    code, out, _ = run("doctor")
    assert code == 0
    assert "2.21.0" in out
    assert "Chromium: apt-get install chromium" in out
    assert "everything that measuring needs is here" in out


def test_what_is_missing_fails_and_comes_with_its_remedy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_checks", lambda: [FINE, GONE])
    code, out, _ = run("doctor")
    assert code == 1
    assert "MISSING" in out
    assert "Horovod: make setup" in out
    assert "1 thing missing" in out


def test_json(run_json: Callable[..., tuple[int, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_checks", lambda: [FINE, GONE])
    code, document = run_json("doctor")
    assert code == 1
    assert document == {"ok": False, "checks": [FINE.to_json(), GONE.to_json()]}


def test_a_cluster_is_looked_at_too(run_json: Callable[..., tuple[int, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_checks", lambda: [FINE])
    monkeypatch.setattr(doctor, "run_cluster_checks", lambda cluster: [Check(cluster.name, "missing", "no", "do")])
    code, document = run_json("doctor", "emulated-4")
    assert code == 1
    assert [check["name"] for check in document["checks"]] == ["TensorFlow", "emulated-4"]


def test_an_unknown_cluster_is_refused_before_anything_is_checked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_checks", lambda: pytest.fail("it checked"))
    code, _, err = run("doctor", "emulated-5")
    assert code == 2
    assert "emulated-4" in err
