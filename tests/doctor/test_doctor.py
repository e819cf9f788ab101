"""The doctor finds what is there, and says how to mend what is not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autosync_lab import doctor
from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.doctor import checks
from autosync_lab.runtime import namespaces


@pytest.mark.cluster
def test_this_machine_is_well_and_nothing_is_left() -> None:
    before = set(os.listdir("/sys/class/net"))
    found = doctor.run_checks()
    assert {c.name for c in found} >= {
        "python", "tensorflow", "horovod", "gloo address", "programs", "namespaces", "emulated network", "ports",
        "cores", "memory", "disk", "jupyterlab", "chromium",
    }  # fmt: skip
    assert [c for c in found if c.status == "missing"] == []
    assert all(c.detail for c in found)
    assert set(os.listdir("/sys/class/net")) == before


def test_everything_that_is_not_well_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_run", lambda command: (False, "it failed"))
    monkeypatch.setattr(checks, "_which", lambda program: None)
    monkeypatch.setattr(checks, "_version", lambda package: None)
    monkeypatch.setattr(checks, "unshare_command", lambda: None)
    found = doctor.run_checks()
    unwell = {c.name: c for c in found if c.status != "ok"}
    assert set(unwell) >= {"tensorflow", "horovod", "programs", "namespaces", "jupyterlab", "chromium"}
    assert all(c.remedy for c in unwell.values())
    assert {n for n, c in unwell.items() if c.status == "missing"} == {
        "tensorflow",
        "horovod",
        "programs",
        "namespaces",
    }


def test_a_network_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "unshare_command", lambda: ("false",))
    (check,) = checks.check_emulated_network()
    assert (check.status, bool(check.remedy)) == ("missing", True)


def test_a_host_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "no-such-host.invalid")
    (check,) = checks.check_gloo_address()
    assert check.status == "warning"
    assert "/etc/hosts" in check.remedy


@pytest.mark.parametrize(
    ("launcher", "status", "said"),
    [("local", "ok", "on this machine"), ("virtual", "ok", "simulated"), ("slurm", "missing", "by slurm yet")],
)
def test_a_cluster_without_machines_to_reach(launcher: str, status: str, said: str) -> None:
    (check,) = doctor.run_cluster_checks(ClusterSpec("mine", (Node("a"),), launcher))
    assert check.status == status
    assert said in check.detail
    assert bool(check.remedy) == (status != "ok")


@pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh")
def test_a_cluster_whose_node_has_no_address() -> None:
    (check,) = doctor.run_cluster_checks(ClusterSpec("mine", (Node("no-such-host.invalid"),), "ssh"))
    assert (check.name, check.status) == ("mine", "missing")
    assert "no-such-host.invalid" in check.detail


def test_an_unprivileged_user_gets_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(namespaces.subprocess, "run", refuse)
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert namespaces.unshare_command.__wrapped__() is None
    assert {"--user", "--map-root-user"} <= set(asked[0])


def test_the_doctor_needs_no_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text("raise ImportError('blocked')")
    code = "from autosync_lab.doctor.checks import check_tensorflow as c; print(c()[0].status)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.strip() == "missing"
