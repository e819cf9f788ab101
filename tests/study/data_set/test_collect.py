"""Collecting a data set: nothing is measured twice, and nothing is lost."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.errors import ClusterUnavailable, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime import Profile
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator.calibrate import ProbeTrial
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.data_set import DataSet
from autosync_lab.study.data_set import collect as collecting
from autosync_lab.study.data_set.collect import Collection, collect
from autosync_lab.study.data_set.plan import REPEATED
from tests.study.fake_measuring import CLUSTER, MODEL, FakeRunner, failed, seconds_of


class _Cluster(FakeRunner):
    """An open cluster; `limit` trials after which Ctrl-C is pressed."""

    limit = math.inf
    profiled: list[str] = []
    probed = 0

    def __enter__(self) -> "_Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True

    def profile(self, model: ModelSpec) -> Profile:
        self.profiled.append(model.name)
        return Profile(0.5, tuple(0.5 * v.ready for v in model.variables))

    def measure(self, model: ModelSpec, strategy: Strategy, **settings: Any) -> Trial:
        if sum(self.measured.values()) >= self.limit:
            raise KeyboardInterrupt
        return super().measure(model, strategy, **({"on_progress": lambda _: None} | settings))


class _Told:
    def __init__(self) -> None:
        self.total = 0
        self.calibrated: list[str] = []
        self.trials: list[tuple[str, str, float]] = []

    def planned(self, trials: int) -> None:
        self.total = trials

    def calibrating(self, cluster: str) -> None:
        self.calibrated.append(cluster)

    def ended(self, pair: str, label: str, step_time_s: float) -> None:
        self.trials.append((pair, label, step_time_s))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> _Cluster:
    fake = _Cluster()
    fake.profiled = []

    def probe(runner: _Cluster) -> tuple[ProbeTrial, ...]:
        fake.probed += 1
        strategies = [build_strategy(name, MODEL, CLUSTER) for name in ("ps", "horovod")]
        return tuple(ProbeTrial(MODEL.with_profile(0.1, (0.1,) * 4), s, seconds_of(s)) for s in strategies)

    monkeypatch.setattr(collecting, "open_cluster", lambda _: fake)
    monkeypatch.setattr(collecting, "probe", probe)
    return fake


WHAT = Collection([MODEL], [CLUSTER], random=12, searched=3)


def test_it_holds_what_was_planned(cluster: _Cluster, tmp_path: Path) -> None:
    told = _Told()
    found = collect(WHAT, tmp_path / "new", told)
    labels = Counter(t.label for t in found.trials)
    assert labels["random"] == labels["random-pruned"] == 6
    assert labels[REPEATED] == 2
    assert labels["autosync"] == 3
    assert labels["horovod"] == 2  # once more as the search's baseline
    # The search may repeat its baselines, which its progress counts too.
    assert len(told.trials) == len(found.trials)
    assert told.calibrated == [CLUSTER.name]
    assert found.pairs == ((MODEL.name, CLUSTER.name),)
    assert found.model(MODEL.name).compute_s == 0.5
    assert DataSet.read(tmp_path / "new") == found
    assert f"{len(found.trials)} trials that succeeded" in (tmp_path / "new" / "DATASHEET.md").read_text()


def test_a_second_collection_measures_nothing(cluster: _Cluster, tmp_path: Path) -> None:
    first = collect(WHAT, tmp_path, _Told())
    measured, told = cluster.measured.copy(), _Told()
    second = collect(WHAT, tmp_path, told)
    assert cluster.measured == measured
    assert cluster.probed == 1
    assert cluster.profiled == [MODEL.name]
    assert told.total == 0
    assert second == first


@pytest.mark.parametrize("limit", [0, 1, 11, 20, 25])
def test_after_ctrl_c_it_goes_on_where_it_was(cluster: _Cluster, tmp_path: Path, limit: int) -> None:
    cluster.limit = limit
    with pytest.raises(KeyboardInterrupt):
        collect(WHAT, tmp_path, _Told())
    assert cluster.closed
    cluster.limit = math.inf
    found = collect(WHAT, tmp_path, _Told())
    whole = Counter(t.label for t in found.trials)
    assert whole["random"] == whole["random-pruned"] == 6
    assert whole["autosync"] == 3
    assert cluster.probed == 1


def test_a_longer_collection_adds_to_a_shorter_one(cluster: _Cluster, tmp_path: Path) -> None:
    short = collect(Collection([MODEL], [CLUSTER], random=4, searched=0), tmp_path, _Told())
    long = collect(WHAT, tmp_path, _Told())
    assert long.trials[: len(short.trials)] == short.trials
    assert max(cluster.measured.values()) <= 3


def test_a_failed_trial_is_kept_and_is_no_part_of_a_pair(cluster: _Cluster, tmp_path: Path) -> None:
    cluster.script = lambda runner, trial: failed(trial) if trial.label == "ps" else trial
    told = _Told()
    found = collect(Collection([MODEL], [CLUSTER], random=2, searched=0), tmp_path, told)
    assert [math.isnan(s) for _, label, s in told.trials if label == "ps"] == [True]
    assert "ps" in {t.label for t in found.trials}
    assert "ps" not in {t.label for t in found.of(MODEL.name, CLUSTER.name)}


def test_a_cluster_that_cannot_be_started_leaves_what_was_measured(
    cluster: _Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(Collection([MODEL], [CLUSTER], random=4, searched=0), tmp_path, _Told())

    def refuse(_: object) -> None:
        raise ClusterUnavailable("no namespaces here", stage="start", stderr_tail="")

    monkeypatch.setattr(collecting, "open_cluster", refuse)
    with pytest.raises(ClusterUnavailable):
        collect(WHAT, tmp_path, _Told())
    assert len(DataSet.read(tmp_path).of(MODEL.name, CLUSTER.name)) >= 4


def test_another_model_of_the_same_name_is_refused(cluster: _Cluster, tmp_path: Path) -> None:
    collect(Collection([MODEL], [CLUSTER], random=0, searched=0), tmp_path, _Told())
    other = ModelSpec(MODEL.name, MODEL.variables[1:], MODEL.batch_size)
    with pytest.raises(InvalidInput, match="another model of this name"):
        collect(Collection([other], [CLUSTER], random=0, searched=0), tmp_path, _Told())


def test_what_is_calibrated_is_in_the_data_set(cluster: _Cluster, tmp_path: Path) -> None:
    found = collect(Collection([MODEL], [CLUSTER], random=0, searched=0), tmp_path, _Told())
    assert isinstance(found.calibrations[CLUSTER.name], Calibration)
    assert found.cost_model(MODEL.name, CLUSTER.name).calibration == found.calibrations[CLUSTER.name]
