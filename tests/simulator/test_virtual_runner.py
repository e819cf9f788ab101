"""`VirtualRunner`: what takes the place of a runner says that it simulates, and keeps to its rules."""

from dataclasses import replace
from typing import Any

import pytest

from autosync_lab import load_cluster, load_model, open_cluster
from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.errors import ClusterUnavailable, InvalidInput, InvalidStrategy
from autosync_lab.runtime.runner import Progress
from autosync_lab.simulator import Calibration, CostModel, VirtualRunner
from autosync_lab.strategy import build_strategy, node_traffic
from tests.simulator.cases import FREE, cluster, model, ps, strategy

CLUSTER = load_cluster("cluster-a")
MODEL = load_model("vgg16")
HOROVOD = build_strategy("horovod", MODEL, CLUSTER)


def test_a_virtual_cluster_is_opened_without_processes() -> None:
    with open_cluster(CLUSTER) as runner:
        assert isinstance(runner, VirtualRunner)
        assert runner.worker_pids == {}
        assert set(runner.versions) == {"autosync-lab"}
        runner.cancel()


def test_a_trial_says_that_it_is_simulated() -> None:
    trial = VirtualRunner(CLUSTER).measure(MODEL, HOROVOD, steps=4, warmup=1, seed=7, label="mine", optimizer="adam")
    assert trial.simulated
    assert (trial.launcher, trial.status, trial.label) == ("virtual", "ok", "mine")
    assert (trial.steps, trial.warmup, trial.seed, trial.optimizer) == (4, 1, 7, "adam")
    assert (trial.model, trial.model_hash) == (MODEL.name, MODEL.hash)
    assert (trial.cluster, trial.cluster_hash) == (CLUSTER.name, CLUSTER.hash)
    assert trial.bound_s == bandwidth_bound(MODEL, CLUSTER)
    assert len(trial.step_times_s) == 4
    assert {len(row) for row in trial.step_times_s} == {CLUSTER.replicas}
    assert trial.step_time_s == CostModel(MODEL, CLUSTER).timeline(HOROVOD).step_time_s
    assert trial.events == ()


def test_a_measured_cluster_is_played_as_virtual() -> None:
    on = load_cluster("emulated-4")
    of = load_model("ncf-small")
    trial = VirtualRunner(on).measure(of, build_strategy("ps", of, on))
    assert (trial.simulated, trial.launcher, trial.cluster) == (True, "virtual", "emulated-4")


def test_bytes_are_those_of_the_strategy() -> None:
    trial = VirtualRunner(CLUSTER).measure(MODEL, HOROVOD)
    sent, received = node_traffic(MODEL, CLUSTER, HOROVOD)
    assert trial.bytes_sent == {n.name: s for n, s in zip(CLUSTER.nodes, sent, strict=True)}
    assert trial.bytes_received == {n.name: r for n, r in zip(CLUSTER.nodes, received, strict=True)}


def test_models_known_by_their_variables_only_work() -> None:
    on = cluster(2)
    of = model(100, compute_s=0.5)
    assert of.tracer is None
    trial = VirtualRunner(on, FREE).measure(of, strategy(on, ps("w0")))
    assert trial.step_time_s == pytest.approx(0.7)


def test_a_model_with_other_times_is_played_anew() -> None:
    on = cluster(2)
    of = model(100, compute_s=0.5)
    runner = VirtualRunner(on, FREE)
    first = runner.measure(of, strategy(on, ps("w0"))).step_time_s
    # Of one content hash: times are not part of it.
    second = runner.measure(replace(of, compute_s=1.5), strategy(on, ps("w0"))).step_time_s
    assert second == pytest.approx(first + 1.0)


def test_progress_is_said() -> None:
    said: list[Progress] = []
    trial = VirtualRunner(CLUSTER).measure(MODEL, HOROVOD, steps=3, on_progress=said.append)
    assert said == [Progress("steps", 3, 3, trial.step_time_s)]


def test_a_closed_runner_refuses() -> None:
    runner = VirtualRunner(CLUSTER)
    runner.close()
    runner.close()
    with pytest.raises(ClusterUnavailable, match="closed"):
        runner.measure(MODEL, HOROVOD)


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": 0},
        {"steps": 1.5},
        {"warmup": -1},
        {"seed": -1},
        {"optimizer": "sdg"},
        {"learning_rate": -1.0},
        {"timeout_s": 0},
    ],
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        VirtualRunner(CLUSTER).measure(MODEL, HOROVOD, **settings)


def test_strategies_are_checked() -> None:
    other = build_strategy("horovod", MODEL, load_cluster("emulated-4"))
    with pytest.raises(InvalidStrategy, match="replicas"):
        VirtualRunner(CLUSTER).measure(MODEL, other)


def test_a_profile_is_that_of_one_replica_alone() -> None:
    of = model(1, 1, compute_s=0.2, ready=(1.0, 0.25))
    profile = VirtualRunner(cluster(2), Calibration(compute_slowdown=3.0)).profile(of)
    assert profile.compute_s == pytest.approx(0.2)
    assert profile.ready_s == pytest.approx((0.2, 0.05))
