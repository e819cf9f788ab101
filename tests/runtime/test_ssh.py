"""The launcher `ssh` with real logins to two nodes: it trains the same, says what is wrong, and leaves nothing."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import psutil
import pytest

import autosync_lab as asl
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.cluster.yaml_file import dump_cluster
from autosync_lab.doctor import run_cluster_checks
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.launchers.remote import RemoteLauncher
from autosync_lab.runtime.runner import Progress, Runner
from tests.runtime.reference import concatenated_training
from tests.runtime.ssh_nodes import REPOSITORY, SECOND_GBPS, SshNodes, why_not

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.emulated,
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]

STEPS = 3
RATE = 0.05


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshNodes]:
    made = SshNodes(tmp_path_factory.mktemp("ssh"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def runner(nodes: SshNodes) -> Iterator[Runner]:
    opened = nodes.inside(lambda: asl.open_cluster(nodes.cluster(0, 1)))
    assert isinstance(opened, Runner)
    yield opened
    nodes.inside(opened.close)


def command_lines() -> list[str]:
    """Of every process of this machine."""
    return [" ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])]


def refusal(nodes: SshNodes, cluster: ClusterSpec) -> str:
    """Why a cluster cannot be opened."""
    with pytest.raises(ClusterUnavailable) as caught:
        nodes.inside(lambda: asl.open_cluster(cluster))
    return str(caught.value)


def assert_gone(nodes: SshNodes) -> None:
    """Nothing that was started runs on the nodes, or soon will not, and no file of it is left."""
    assert becomes(lambda: nodes.processes(0) == nodes.processes(1) == [])
    assert list(nodes.node_folder.iterdir()) == []


def becomes(condition: Callable[[], bool]) -> bool:
    """Whether something is so within some seconds."""
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("builder", ["ps", "horovod"])
def test_it_trains_as_one_process_does(nodes: SshNodes, runner: Runner, builder: str) -> None:
    model = asl.load_model("ncf-small")
    strategy = asl.build_strategy(builder, model, runner.cluster)
    trial, trained = nodes.inside(lambda: runner.train(model, strategy, steps=STEPS, learning_rate=RATE))
    assert trial.status == "ok", f"{trial.error}\n{trial.stderr_tail}"
    reference = concatenated_training(model.traced, 2, STEPS, "sgd", RATE)
    for parameters in trained:
        for name, value in reference.items():
            np.testing.assert_allclose(parameters[name], value, rtol=0, atol=1e-5 * np.abs(value).max())


def test_a_measured_trial(nodes: SshNodes, runner: Runner) -> None:
    model = asl.load_model("ncf-small")
    strategy = asl.build_strategy("parallax", model, runner.cluster)
    trial = nodes.inside(lambda: runner.measure(model, strategy, steps=STEPS, warmup=1, trace=True))
    assert trial.status == "ok", f"{trial.error}\n{trial.stderr_tail}"
    assert (trial.launcher, trial.simulated) == ("ssh", False)
    assert [len(row) for row in trial.step_times_s] == [2] * STEPS
    assert trial.bytes_sent is not None
    assert set(trial.bytes_sent) == {nodes.address(0), nodes.address(1)}
    assert min(trial.bytes_sent.values()) > 0
    # The nodes share a clock: what both workers do at one time is traced so.
    begins = [min(e.start_s for e in trial.events if e.worker == worker) for worker in {e.worker for e in trial.events}]
    assert len(begins) == 2
    assert max(begins) < 1.0


def test_the_secret_is_in_no_command_line(nodes: SshNodes, runner: Runner) -> None:
    launcher = runner.launcher
    assert isinstance(launcher, RemoteLauncher)
    assert launcher._port is not None
    lines = command_lines()
    assert any("node_agent" in line for line in lines)
    assert not any(launcher._port.secret.hex() in line for line in lines)


def test_a_killed_agent_fails_one_trial(nodes: SshNodes, runner: Runner) -> None:
    model = asl.load_model("ncf-small")
    strategy = asl.build_strategy("ps", model, runner.cluster)
    agents = {p.pid: p for p in nodes.processes(1) if p.cmdline()[-1:] == ["autosync_lab.runtime.node_agent"]}
    # Forked workers have the command line of their agent.
    agent = next(p for p in agents.values() if p.ppid() not in agents)

    def kill(progress: Progress) -> None:
        if progress.stage == "steps" and progress.step == 1 and agent.is_running():
            agent.kill()

    trial = nodes.inside(lambda: runner.measure(model, strategy, steps=500, warmup=1, on_progress=kill))
    assert (trial.status, trial.stage) == ("failed", "steps")
    assert "replica" in trial.error
    again = nodes.inside(lambda: runner.measure(model, strategy, steps=1, warmup=0))
    assert again.status == "ok", f"{again.error}\n{again.stderr_tail}"


def test_closing_leaves_nothing_on_the_nodes(nodes: SshNodes, runner: Runner) -> None:
    assert nodes.processes(0)
    assert list(nodes.node_folder.iterdir())
    nodes.inside(runner.close)
    assert_gone(nodes)


OWNER = """
import sys
import autosync_lab as asl
runner = asl.open_cluster(asl.load_cluster(sys.argv[1]))
print(sorted(runner.worker_pids), flush=True)
sys.stdin.read()
"""


def test_a_killed_owner_leaves_nothing_on_the_nodes(nodes: SshNodes) -> None:
    cluster = nodes.cluster(0, 1)
    two, server = (replace(node, replicas=r) for node, r in zip(cluster.nodes, (2, 0), strict=True))
    file = nodes.folder / "cluster.yml"
    file.write_text(dump_cluster(replace(cluster, nodes=(two, server))))
    owner = nodes.inside(
        lambda: subprocess.Popen(
            [sys.executable, "-c", OWNER, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(nodes.folder)},
        )
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "[0, 1, 2]\n"
        owner.kill()
    assert_gone(nodes)
    configuration = str(nodes.folder / "ssh_config")
    assert becomes(lambda: not any(configuration in line for line in command_lines()))


def test_a_node_that_is_down(nodes: SshNodes) -> None:
    nodes.network.set_link(1, up=False)
    try:
        message = refusal(nodes, nodes.cluster(1))
    finally:
        nodes.network.set_link(1, up=True)
    assert f"node {nodes.address(1)} cannot be logged in to" in message
    assert f"connect to host {nodes.address(1)} port 22" in message


def test_a_wrong_key(nodes: SshNodes) -> None:
    message = refusal(nodes, nodes.cluster(1, key_file=str(nodes.new_key("stranger"))))
    assert f"node {nodes.address(1)} cannot be logged in to" in message
    assert "Permission denied (publickey" in message


def test_an_unknown_host_key(nodes: SshNodes) -> None:
    nodes.know_hosts(False)
    try:
        message = refusal(nodes, nodes.cluster(1))
    finally:
        nodes.know_hosts(True)
    assert "Host key verification failed" in message
    assert (nodes.folder / "known_hosts").read_text().count("ssh-ed25519") == 2


@pytest.mark.parametrize(
    ("python_venv", "said"),
    [("/nowhere/venv", "/nowhere/venv/bin/python"), ("source /nowhere/activate", "/nowhere/activate")],
)
def test_a_python_that_is_not_there(nodes: SshNodes, python_venv: str, said: str) -> None:
    message = refusal(nodes, nodes.cluster(1, python_venv=python_venv))
    assert f"node {nodes.address(1)}" in message
    assert said in message


def test_versions_that_differ(nodes: SshNodes) -> None:
    # What Python finds installed first on that node.
    installed = nodes.folder / "old" / "horovod-0.27.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: horovod\nVersion: 0.27.0\n")
    variables = dict(nodes.cluster(1).ssh["plain"]["shared_envs"])
    variables["PYTHONPATH"] = f"{installed.parent}:{variables['PYTHONPATH']}"
    message = refusal(nodes, nodes.cluster(0, 1, shared_envs=variables))
    assert f"node {nodes.address(1)} has horovod 0.27.0, but here it is 0.28.1 (stage: versions)" in message


def test_the_doctor_looks_at_every_node(nodes: SshNodes) -> None:
    fine = nodes.inside(lambda: run_cluster_checks(nodes.cluster(0, 1)))
    first, second = nodes.address(0), nodes.address(1)
    assert [(c.name, c.status) for c in fine] == [
        (name, "ok")
        for name in (f"node {first}", f"node {second}", f"link {first} to {second}", f"link {second} to {first}")
    ]
    assert f"{first} on eth0" in fine[0].detail
    for link in fine[2:]:
        assert 0 < float(link.detail.split()[0]) < 1.2 * SECOND_GBPS
    assert_gone(nodes)
    fast = tuple(replace(node, up_gbps=100.0, down_gbps=100.0) for node in nodes.cluster(0, 1).nodes)
    slow = nodes.inside(lambda: run_cluster_checks(replace(nodes.cluster(0, 1), nodes=fast)))
    assert [c.status for c in slow] == ["ok", "ok", "warning", "warning"]
    assert "declared 100" in slow[2].detail
    off = nodes.inside(lambda: run_cluster_checks(nodes.cluster(0, 1, key_file=str(nodes.new_key("other")))))
    assert [c.status for c in off] == ["ok", "missing"]
    assert "Permission denied" in off[1].detail
    assert off[1].remedy.startswith("this must work without a question: ssh -T")
