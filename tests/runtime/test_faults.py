"""A failing worker is one failed trial: it says where and why, the next trial works, nothing is left behind."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import autosync_lab as asl
from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.launchers.emulated import EmulatedLauncher
from autosync_lab.runtime.runner import Progress, Runner
from autosync_lab.runtime.trial import Trial
from tests.runtime.clusters import fast_cluster, slow_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.emulated]

MODEL = "vgg-mini"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with asl.open_cluster(slow_cluster(3, 0.1)) as opened:
        yield opened


def measure_while(runner: Runner, harm: Callable[[], None], timeout_s: float) -> Trial:
    """Measure; after the first timed step, do harm."""
    model = asl.load_model(MODEL)
    harmed = threading.Event()

    def on_progress(progress: Progress) -> None:
        if progress.stage == "steps" and progress.step == 1 and not harmed.is_set():
            harmed.set()
            harm()

    strategy = asl.build_strategy("partitioned-ps", model, runner.cluster)
    return runner.measure(model, strategy, steps=30, warmup=1, timeout_s=timeout_s, on_progress=on_progress)


def assert_works(runner: Runner) -> None:
    model = asl.load_model(MODEL)
    trial = runner.measure(model, asl.build_strategy("all-reduce", model, runner.cluster), steps=1, warmup=0)
    assert trial.status == "ok", trial.error


def assert_failed_in_steps(trial: Trial) -> None:
    assert trial.status == "failed"
    assert trial.stage == "steps"
    assert 1 <= len(trial.step_times_s) < 30


def test_a_killed_worker(runner: Runner) -> None:
    pids = runner.worker_pids
    trial = measure_while(runner, lambda: os.kill(pids[1], signal.SIGKILL), timeout_s=30)
    assert_failed_in_steps(trial)
    assert "replica" in trial.error
    assert trial.exit_code == -signal.SIGKILL or "replica 1" not in trial.error
    assert not any(psutil.pid_exists(pid) for pid in pids.values())
    assert_works(runner)


def test_a_hung_worker(runner: Runner) -> None:
    pids = runner.worker_pids
    trial = measure_while(runner, lambda: os.kill(pids[2], signal.SIGSTOP), timeout_s=5)
    assert_failed_in_steps(trial)
    assert "no process said anything for 5 s" in trial.error
    assert f"pid {pids[2]}" in trial.error
    assert not any(psutil.pid_exists(pid) for pid in pids.values())
    assert_works(runner)


def test_a_cut_link(runner: Runner) -> None:
    launcher = runner.launcher
    assert isinstance(launcher, EmulatedLauncher)
    assert launcher.network is not None
    network = launcher.network
    trial = measure_while(runner, lambda: network.set_link(1, up=False), timeout_s=5)
    assert_failed_in_steps(trial)
    assert trial.error
    assert_works(runner)


def test_exhausted_memory() -> None:
    import tensorflow as tf

    weight = tf.Variable(tf.ones([1000, 1]), name="weight")

    def greedy(x: tf.Tensor) -> tf.Tensor:
        # 8 GB in pieces that are all alive at once.
        rows = tf.matmul(x, weight)
        large = tf.exp(rows - rows[:, 0])
        return tf.reduce_mean(tf.sort(tf.reshape(large, [-1]))) + tf.reduce_mean(rows)

    batch = (np.ones((45_000, 1000), np.float32)[:, :1000],)
    greedy_model = asl.ModelSpec.from_function(greedy, [weight], batch, name="greedy")
    with asl.open_cluster(fast_cluster(2, 1, 0, memory_gib=2.0)) as runner:
        strategy = asl.build_strategy("all-reduce", greedy_model, runner.cluster)
        trial = runner.measure(greedy_model, strategy, steps=1, warmup=0, timeout_s=60)
        assert trial.status == "failed"
        assert trial.stage == "steps"
        assert trial.error
        assert trial.stderr_tail
        assert_works(runner)


def test_a_cancelled_trial(runner: Runner) -> None:
    began: list[float] = []

    def cancel() -> None:
        began.append(time.monotonic())
        threading.Thread(target=runner.cancel).start()

    trial = measure_while(runner, cancel, timeout_s=30)
    assert trial.status == "stopped"
    assert time.monotonic() - began[0] < 5
    assert_works(runner)


def test_a_dead_fork_server_is_replaced_or_reported() -> None:
    with asl.open_cluster(fast_cluster(2, 1, 0)) as runner:
        pids = runner.worker_pids
        os.kill(runner.launcher.server_pid, signal.SIGKILL)  # type: ignore[attr-defined]
        model = asl.load_model(MODEL)
        strategy = asl.build_strategy("all-reduce", model, runner.cluster)
        trial = runner.measure(model, strategy, steps=1, timeout_s=20)
        assert trial.status == "failed"
        deadline = time.monotonic() + 10
        while any(psutil.pid_exists(pid) for pid in pids.values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(psutil.pid_exists(pid) for pid in pids.values())
        assert_works(runner)


def test_closing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    with asl.open_cluster(fast_cluster(2, 1, 1)) as runner:
        assert list(tmp_path.iterdir())
        pids = runner.worker_pids
    assert list(tmp_path.iterdir()) == []
    assert not any(psutil.pid_exists(pid) for pid in pids.values())
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before
    runner.close()


def test_nodes_may_have_any_names() -> None:
    model = asl.load_model("ncf-small")
    nodes = (Node("node1"), Node("w0", up_gbps=10.0, down_gbps=10.0), Node("10.0.0.7", replicas=0))
    cluster = ClusterSpec("named", nodes, "emulated")
    with asl.open_cluster(cluster) as runner:
        for builder in ("horovod", "ps"):
            trial = runner.measure(model, asl.build_strategy(builder, model, cluster), steps=1)
            assert trial.status == "ok", trial.error


def test_a_progress_callback_may_close_the_runner() -> None:
    model, cluster = asl.load_model("ncf-small"), fast_cluster(1, 2, 0)
    runner = asl.open_cluster(cluster)
    pids = list(runner.worker_pids.values())
    trial = runner.measure(
        model, asl.build_strategy("ps", model, cluster), steps=50, on_progress=lambda _: runner.close()
    )
    assert trial.status == "stopped"
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_cancelling_while_the_pool_restarts_stops_the_trial() -> None:
    model, cluster = asl.load_model("ncf-small"), fast_cluster(1, 2, 0)
    with asl.open_cluster(cluster) as runner:
        strategy = asl.build_strategy("ps", model, cluster)
        os.kill(runner.worker_pids[0], signal.SIGKILL)
        assert runner.measure(model, strategy, steps=1).status == "failed"
        timer = threading.Timer(0.05, runner.cancel)
        timer.start()
        assert runner.measure(model, strategy, steps=1).status == "stopped"
        timer.join()
        assert runner.measure(model, strategy, steps=1).status == "ok"


def test_a_lost_node_is_said_plainly() -> None:
    model, cluster = asl.load_model("ncf-small"), fast_cluster(2, 1, 0)
    with asl.open_cluster(cluster) as runner:
        assert isinstance(runner.launcher, EmulatedLauncher)
        holder = runner.launcher.namespace_pid(0)
        assert holder is not None
        os.kill(holder, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(holder)], timeout=10)
        with pytest.raises(ClusterUnavailable, match="network of node node0 is gone"):
            runner.measure(model, asl.build_strategy("ps", model, cluster), steps=1)
