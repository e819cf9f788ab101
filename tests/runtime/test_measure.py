"""What a measured trial records."""

import math
from collections.abc import Iterator

import pytest

import autosync_lab as asl
from autosync_lab.runtime.runner import Progress, Runner
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with asl.open_cluster(asl.load_cluster("local-2")) as opened:
        yield opened


def test_a_trial_records_every_step_of_every_worker(runner: Runner) -> None:
    model = asl.load_model("vgg-mini")
    progress: list[Progress] = []
    strategy = asl.build_strategy("ps", model, runner.cluster)
    trial = runner.measure(model, strategy, steps=3, warmup=1, label="ps", on_progress=progress.append)
    assert trial.status == "ok"
    assert not trial.simulated
    assert (len(trial.step_times_s), {len(row) for row in trial.step_times_s}) == (3, {2})
    assert all(0 < seconds < 60 for row in trial.step_times_s for seconds in row)
    assert trial.step_time_s == sorted(max(row) for row in trial.step_times_s)[1]
    assert len(trial.losses) == 3
    assert trial.losses[2] < trial.losses[0] or math.isclose(trial.losses[2], trial.losses[0], rel_tol=0.2)
    assert 0 < trial.setup_s < trial.total_s
    assert trial.bytes_sent is None
    assert (trial.label, trial.model_hash, trial.cluster_hash) == ("ps", model.hash, runner.cluster.hash)
    assert {"tensorflow", "horovod", "keras", "python"} <= set(trial.versions)
    stages = list(dict.fromkeys(p.stage for p in progress))
    assert stages == ["model", "build", "warm-up", "steps", "collect"]
    assert [p.step for p in progress if p.stage == "steps"] == [0, 1, 2, 3]


def test_a_traced_step_shows_every_lane(runner: Runner) -> None:
    model = asl.load_model("vgg-mini")
    entries = tuple(
        VariableStrategy(v.name, (ParameterServer("localhost"),) if i % 2 else (AllReduce(0),))
        for i, v in enumerate(model.variables)
    )
    trial = runner.measure(model, Strategy(entries, 2), steps=1, trace=True)
    assert trial.status == "ok", trial.error
    lanes = {(e.worker, e.lane) for e in trial.events}
    for lane in ("compute", "push", "pull", "all-reduce", "apply"):
        assert any(found == lane for _, found in lanes), (lane, lanes)
    assert {w for w, lane in lanes if lane == "compute"} == {"replica 0 on localhost", "replica 1 on localhost"}
    assert min(e.start_s for e in trial.events) == 0.0
    assert all(e.end_s >= e.start_s for e in trial.events)
    pulled = {e.name for e in trial.events if e.lane == "pull"}
    assert pulled <= {v.name for v in model.variables}
    assert pulled


def test_a_profile_orders_gradients(runner: Runner) -> None:
    model = asl.load_model("vgg-mini")
    profile = runner.profile(model)
    assert len(profile.ready_s) == len(model.variables)
    assert 0 < max(profile.ready_s) <= profile.compute_s * 1.01
    # Backward: the last layer's gradient is ready before the first layer's.
    assert profile.ready_s[-1] < profile.ready_s[0]


def test_bad_input_runs_nothing(runner: Runner) -> None:
    model = asl.load_model("vgg-mini")
    strategy = asl.build_strategy("ps", model, runner.cluster)
    for wrong in ({"steps": 0}, {"warmup": -1}, {"optimizer": "adma"}, {"learning_rate": -1.0}, {"timeout_s": 0.0}):
        with pytest.raises(asl.InvalidInput):
            runner.measure(model, strategy, **wrong)  # type: ignore[arg-type]
    with pytest.raises(asl.InvalidInput, match="did you mean 'adam'"):
        runner.measure(model, strategy, optimizer="adma")
    other = asl.load_model("ncf-small")
    with pytest.raises(asl.InvalidInput, match="no such trainable variable"):
        runner.measure(other, strategy)


def test_a_closed_runner_says_so() -> None:
    with asl.open_cluster(asl.load_cluster("local-2")) as opened:
        pass
    model = asl.load_model("vgg-mini")
    with pytest.raises(asl.AutoSyncLabError, match="closed"):
        opened.measure(model, asl.build_strategy("ps", model, opened.cluster))


def test_a_virtual_cluster_is_simulated_and_says_so() -> None:
    model, cluster = asl.load_model("vgg16"), asl.load_cluster("cluster-a")
    with asl.open_cluster(cluster) as opened:
        trial = opened.measure(model, asl.build_strategy("ps", model, cluster))
        assert trial.simulated
        assert trial.launcher == "virtual"
        assert not opened.worker_pids


def test_a_cluster_whose_launcher_is_not_here_is_not_opened() -> None:
    with pytest.raises(asl.InvalidInput, match="launcher"):
        asl.open_cluster(asl.ClusterSpec("far", (asl.Node("far-away"),), launcher="slurm"))
