import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.errors import AutoSyncLabError, ClusterUnavailable, InvalidInput, InvalidStrategy
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.search import SearchAlgorithm
from autosync_lab.simulator import Simulator
from autosync_lab.space import StrategySpace
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.study import Study, StudyEvent, TrialsFailing, TrialStore
from autosync_lab.study.event import EVENT_KINDS
from tests.study.fake_measuring import BASELINES, CLUSTER, MODEL, FakeRunner, failed, seconds_of
from tests.study.scripted_search import Recording, Repeating


@pytest.fixture
def study() -> Iterator[Study]:
    with Study(MODEL, CLUSTER) as made:
        yield made


def run(study: Study, n_trials: int = 4, runner: Any = None, **settings: Any) -> FakeRunner:
    """Run with a fake cluster and random search, unless told otherwise."""
    runner = runner or FakeRunner()
    defaults = {"batch_size": 4, "algorithm": "random", "simulator": "none", "baselines": BASELINES, "confirm": False}
    study.run(n_trials, runner=runner, **(defaults | settings))
    return runner


def sequence(study: Study) -> list[tuple[str, int, str, str | None]]:
    return [(r.role, r.round, r.trial.label, r.trial.strategy_id) for r in study.records]


def roles(study: Study) -> list[str]:
    return [r.role for r in study.records]


def proposals(study: Study) -> list[str | None]:
    return [r.trial.strategy_id for r in study.records if r.role == "proposal"]


def kinds(events: list[StudyEvent]) -> Counter[str]:
    return Counter(e.kind for e in events)


# What is measured, and in which order


def test_baselines_come_first_then_proposals_round_by_round(study: Study) -> None:
    runner = run(study, 6)
    assert runner.labels == [*BASELINES, *["random"] * 6]
    assert [r.round for r in study.records if r.role == "proposal"] == [0, 0, 0, 0, 1, 1]
    assert [r.number for r in study.records] == list(range(1, 10))
    assert [t.label for t in study.baselines] == list(BASELINES)
    assert study.state == "ended"


def test_trials_have_the_studys_steps() -> None:
    with Study(MODEL, CLUSTER, steps=7, warmup=3) as study:
        run(study)
        assert {(t.steps, t.warmup) for t in study.trials} == {(7, 3)}


def test_the_anchor_is_the_best_baseline_and_measured_every_ten_proposals(study: Study) -> None:
    run(study, 25)
    best = min(study.baselines, key=lambda t: t.step_time_s)
    assert roles(study) == [
        *["baseline"] * 3,
        *["proposal"] * 10,
        "anchor",
        *["proposal"] * 10,
        "anchor",
        *["proposal"] * 5,
    ]
    assert {r.trial.strategy for r in study.records if r.role == "anchor"} == {best.strategy}


def test_drift_is_the_anchors_time_over_its_first(study: Study) -> None:
    def slower(runner: FakeRunner, trial: Trial) -> Trial:
        factor = 1.5 ** runner.measured[trial.strategy_id or ""]
        return Trial(**trial.__dict__ | {"step_times_s": ((trial.step_time_s * factor, 0.0),)})

    run(study, 20, FakeRunner(slower))
    points = study.drift()
    assert [p.ratio for p in points] == pytest.approx([1.0, 1.5, 2.25])
    assert [p.number for p in points[1:]] == [14, 25]
    assert points[0].number in (1, 2, 3)


def test_without_baselines_there_is_no_anchor(study: Study) -> None:
    run(study, 12, baselines=())
    assert roles(study) == ["proposal"] * 12
    assert study.drift() == ()


def test_baselines_that_cannot_be_built_are_left_out(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from autosync_lab.study import searching

    def build(name: str, model: ModelSpec, cluster: Any) -> Any:
        if name == "parallax":
            raise InvalidStrategy("no sparse variable")
        return build_strategy("ps", model, cluster)

    monkeypatch.setattr(searching, "build_strategy", build)
    run(study, 1)
    assert [t.label for t in study.baselines] == ["ps"]
    events = [e.data for e in study.events() if e.kind == "baseline-left-out"]
    assert events == [
        {"label": "horovod", "why": "it builds the same strategy as ps"},
        {"label": "parallax", "why": "no sparse variable"},
    ]
    run(study, 2)
    assert kinds(study.events())["baseline-left-out"] == 2


def test_default_baselines_are_of_the_same_semantics() -> None:
    with Study(MODEL, CLUSTER) as lossless, Study(MODEL, CLUSTER, lossy=True) as lossy:
        for study in (lossless, lossy):
            run(study, 0, baselines=None)
        assert all(t.strategy is not None and t.strategy.lossless for t in lossless.baselines)
        assert {t.label for t in lossy.baselines} - {t.label for t in lossless.baselines} == {"horovod-fp16"}


def test_nothing_is_measured_twice(study: Study) -> None:
    runner = run(study, 30, batch_size=7)
    repeated = {r.trial.strategy_id for r in study.records if r.role == "anchor"}
    assert {key for key, count in runner.measured.items() if count > 1} == repeated


def few(*names: str) -> Callable[[StrategySpace, int, Simulator | None], SearchAlgorithm]:
    strategies = [build_strategy(name, MODEL, CLUSTER) for name in names]
    return lambda space, seed, _: Repeating(strategies, space, seed)


def test_what_was_measured_is_skipped_and_asked_again(study: Study) -> None:
    algorithm = few("ps", "all-reduce", "ps", "horovod", "byteps", "parallax")
    run(study, 2, algorithm=algorithm, batch_size=2, baselines=("ps", "horovod"))
    assert proposals(study) == [build_strategy(n, MODEL, CLUSTER).id for n in ("all-reduce", "byteps")]
    (event,) = [e for e in study.events() if e.kind == "proposal-round"]
    assert (event.data["asks"], event.data["skipped"]) == ([2, 1, 1, 1], 3)


def test_an_exhausted_space_ends_the_run(study: Study) -> None:
    algorithm = few("ps", "all-reduce", "byteps")
    for _ in range(2):
        run(study, 10, algorithm=algorithm, baselines=("ps", "horovod"))
        assert len(proposals(study)) == 2
        assert study.state == "ended"
        (*_, before, _) = study.events()
        assert before.kind == "space-exhausted"


# What the search learns


def recorded(study: Study, **settings: Any) -> Recording:
    made: list[Recording] = []

    def factory(space: StrategySpace, seed: int, simulator: Simulator | None) -> Recording:
        made.append(Recording(space, seed, simulator))
        return made[-1]

    factory.name = "recording"  # type: ignore[attr-defined]
    run(study, algorithm=factory, **settings)
    return made[-1]


def test_the_search_is_told_baselines_then_every_round(study: Study) -> None:
    algorithm = recorded(study, n_trials=8)
    assert [call if isinstance(call, int) else len(call) for call in algorithm.calls] == [3, 4, 4, 4, 4]
    observed = [o for told in algorithm.told for o in told]
    assert [o.strategy.id for o in observed] == [t.strategy_id for t in study.trials]
    assert all(o.step_time_s == pytest.approx(seconds_of(o.strategy)) for o in observed)


def test_a_failed_trial_is_told_as_nan_and_the_study_goes_on(study: Study) -> None:
    def script(runner: FakeRunner, trial: Trial) -> Trial:
        return failed(trial) if len(runner.labels) in (1, 4) else trial

    algorithm = recorded(study, n_trials=8, runner=FakeRunner(script))
    observed = [o for told in algorithm.told for o in told]
    assert [i for i, o in enumerate(observed) if math.isnan(o.step_time_s)] == [1, 4]
    assert len(proposals(study)) == 8
    events = [e.data for e in study.events() if e.kind == "failed"]
    assert [(e["stage"], e["error"]) for e in events] == [("build", "worker 1 ended")] * 2
    assert study.state == "ended"


def test_the_simulators_prediction_is_kept(study: Study) -> None:
    run(study, 4, simulator="cost-model")
    predicted = [r.predicted_s for r in study.records if r.role == "proposal"]
    assert all(0 < p < 10 for p in predicted)
    (event,) = [e for e in study.events() if e.kind == "proposal-round"]
    assert [p["predicted_s"] for p in event.data["proposals"]] == predicted
    assert study.to_frame()["predicted_s"].tolist()[3:] == predicted
    assert study.to_frame()["predicted_s"].isna().tolist()[:3] == [True] * 3


def test_five_failures_in_a_row_end_the_study(study: Study) -> None:
    def script(runner: FakeRunner, trial: Trial) -> Trial:
        return failed(trial) if len(runner.labels) not in (0, 1, 2, 6) else trial

    with pytest.raises(TrialsFailing, match=r"5 trials in a row failed.*random.*'build'.*worker 1 ended.*-9"):
        run(study, 20, FakeRunner(script))
    assert len(proposals(study)) == 9
    assert study.state == "failed"
    assert "5 trials in a row" in study.events()[-1].data["error"]
    run(study, 12)
    assert len(proposals(study)) == 12


# Going on


@pytest.mark.parametrize("algorithm", ["random", "genetic", "autosync"])
def test_a_study_goes_on_with_the_proposals_that_it_would_have_made(tmp_path: Path, algorithm: str) -> None:
    settings = {"algorithm": algorithm, "simulator": "cost-model", "confirm": True}
    with Study(MODEL, CLUSTER, seed=3) as whole:
        run(whole, 22, **settings)
        expected = proposals(whole)
    with Study(MODEL, CLUSTER, tmp_path / "t.db", seed=3) as first:
        run(first, 6, **(settings | {"confirm": False}))
    with Study.open(tmp_path / "t.db") as second:
        second.run(22, runner=FakeRunner())
        assert proposals(second) == expected
        assert kinds(second.events())["history-differs"] == 0


def test_another_seed_makes_other_proposals(study: Study) -> None:
    with Study(MODEL, CLUSTER, seed=1) as other:
        run(study)
        run(other)
        assert set(proposals(study)).isdisjoint(proposals(other))


def test_run_again_measures_nothing_again(study: Study) -> None:
    run(study, 6, confirm=True)
    before = sequence(study)
    runner = run(study, 6, confirm=True)
    assert not runner.labels
    assert sequence(study) == before


def test_an_algorithm_that_no_longer_proposes_the_same_is_said_and_goes_on(study: Study) -> None:
    run(study, 6, algorithm=few("all-reduce", "byteps"), baselines=("ps",))
    run(study, 6, algorithm=few("horovod", "byteps"), baselines=("ps",))
    assert kinds(study.events())["history-differs"] == 1
    assert len(proposals(study)) == 2


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("model_hash", {"model": ModelSpec("small", MODEL.variables[:2], 32)}),
        ("cluster_hash", {"cluster": type(CLUSTER)("two-nodes", CLUSTER.nodes, "local")}),
        ("seed", {"seed": 1}),
        ("steps", {"steps": 6}),
        ("space", {"lossy": True}),
        ("space", {"space": StrategySpace(MODEL, CLUSTER)}),
        ("algorithm", {"algorithm": "genetic"}),
        ("simulator", {"simulator": "cost-model"}),
        ("baselines", {"baselines": ("ps",)}),
    ],
)
def test_a_study_goes_on_as_it_began(tmp_path: Path, field: str, change: dict[str, Any]) -> None:
    with Study(MODEL, CLUSTER, tmp_path / "t.db", name="mine") as study:
        run(study, 2)
        before = len(study.events())
    made = {"model": MODEL, "cluster": CLUSTER}
    made |= {k: v for k, v in change.items() if k not in ("algorithm", "simulator", "baselines")}
    settings = {k: v for k, v in change.items() if k not in made}
    with pytest.raises(InvalidInput, match=f"'mine': {field}: .*another name"):  # noqa: SIM117  # one of the two raises
        with Study(store=tmp_path / "t.db", name="mine", **made) as study:
            run(study, 4, **settings)
    with Study.open(tmp_path / "t.db") as study:
        assert len(study.events()) == before


def test_times_of_the_model_are_those_that_the_study_began_with(tmp_path: Path) -> None:
    with Study(MODEL.with_profile(0.5, [0.1, 0.2, 0.3, 0.4]), CLUSTER, tmp_path / "t.db") as study:
        run(study, 2, simulator="cost-model")
    with Study(MODEL.with_profile(0.9, [0.1, 0.2, 0.3, 0.4]), CLUSTER, tmp_path / "t.db") as study:
        assert study.model.compute_s == 0.5


def test_studies_share_a_store(tmp_path: Path) -> None:
    with Study(MODEL, CLUSTER, tmp_path / "t.db") as one, Study(MODEL, CLUSTER, tmp_path / "t.db", name="two") as two:
        run(one, 2)
        run(two, 3)
        assert [len(proposals(s)) for s in (one, two)] == [2, 3]
    assert Study.names(tmp_path / "t.db") == ("small on two-nodes", "two")
    with pytest.raises(InvalidInput, match=r"which study.*Valid: small on two-nodes, two"):
        Study.open(tmp_path / "t.db")
    with pytest.raises(InvalidInput, match="did you mean 'two'"):
        Study.open(tmp_path / "t.db", "tow")
    with TrialStore.open_readonly(tmp_path / "t.db") as store:
        assert len(store) == 11


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trials": -1}, "n_trials"),
        ({"batch_size": 0}, "batch_size"),
        ({"algorithm": "randon"}, "did you mean 'random'"),
        ({"simulator": "magic"}, "unknown simulator"),
        ({"baselines": ("pss",)}, "unknown builder"),
        ({"baselines": "ps"}, "a list of names"),
        ({"baselines": ("horovod-fp16",)}, "changes what training computes"),
    ],
)
def test_bad_settings_start_nothing(study: Study, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(study, **settings)
    assert (study.state, study.events(), study.trials) == ("new", [], ())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "ncf"}, "ModelSpec"),
        ({"seed": -1}, "seed"),
        ({"steps": 0}, "steps"),
        ({"warmup": 1.5}, "warmup"),
        ({"name": " "}, "name"),
        ({"space": StrategySpace(ModelSpec("other", MODEL.variables[:1], 1), CLUSTER)}, "another model"),
        ({"space": StrategySpace(MODEL, CLUSTER), "lossy": True}, "no lossy"),
    ],
)
def test_bad_studies_are_not_made(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Study(**({"model": MODEL, "cluster": CLUSTER} | settings))


# Steering


def test_stop_cancels_the_running_trial_which_is_measured_by_the_next_run(study: Study) -> None:
    def script(runner: FakeRunner, trial: Trial) -> Trial:
        if len(runner.labels) != 5:
            return trial
        study.stop()
        assert runner.cancelled
        return Trial(**trial.__dict__ | {"status": "stopped", "step_times_s": ()})

    runner = run(study, 8, FakeRunner(script))
    assert study.state == "stopped"
    assert len(runner.labels) == 6
    assert [e.kind for e in study.events()[-3:]] == ["trial-ended", "stopped", "study-ended"]
    stopped = study.trials[-1]
    assert stopped.status == "stopped"
    run(study, 8)
    assert study.trials[6].strategy_id == stopped.strategy_id
    with Study(MODEL, CLUSTER) as whole:
        run(whole, 8)
        assert [i for i in proposals(study) if i != stopped.strategy_id] == [
            i for i in proposals(whole) if i != stopped.strategy_id
        ]


def test_a_trial_that_starts_as_stop_is_called_is_cancelled_at_its_first_sign(study: Study) -> None:
    class Late(FakeRunner):
        def measure(self, *arguments: Any, **settings: Any) -> Trial:
            study.stop()
            self.cancelled = 0
            return super().measure(*arguments, **settings)

    runner = run(study, 4, Late())
    assert (runner.cancelled, len(runner.labels), study.state) == (1, 1, "stopped")


def test_pause_and_resume_from_another_thread(study: Study) -> None:
    paused, seen = threading.Event(), []

    def watch(event: StudyEvent) -> None:
        seen.append(event.kind)
        if event.kind == "trial-started" and seen.count("trial-started") == 5:
            study.pause()
        if event.kind == "paused":
            paused.set()

    thread = threading.Thread(target=run, args=(study, 8), kwargs={"on_event": watch})
    thread.start()
    assert paused.wait(30)
    assert study.state == "paused"
    assert len(study.trials) == 5
    thread.join(0.05)
    assert thread.is_alive()
    study.resume()
    thread.join(30)
    assert study.state == "ended"
    assert seen[seen.index("paused") + 1] == "resumed"
    assert len(proposals(study)) == 8


def test_a_paused_study_can_be_stopped(study: Study) -> None:
    def watch(event: StudyEvent) -> None:
        if event.kind == "trial-started":
            study.pause()
        if event.kind == "paused":
            threading.Timer(0.05, study.stop).start()

    run(study, 8, on_event=watch)
    assert study.state == "stopped"
    assert len(study.trials) == 1


def test_steering_what_does_not_run_does_nothing(study: Study) -> None:
    for steer in (study.pause, study.resume, study.stop):
        steer()
    run(study)
    assert study.state == "ended"


def test_ctrl_c_leaves_a_consistent_study_and_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from autosync_lab import runtime

    def script(runner: FakeRunner, trial: Trial) -> Trial:
        if len(runner.labels) == 5:
            raise KeyboardInterrupt
        return trial

    runner = FakeRunner(script)
    monkeypatch.setattr(runtime, "open_cluster", lambda cluster: runner)
    with Study(MODEL, CLUSTER, tmp_path / "t.db") as study:
        with pytest.raises(KeyboardInterrupt):
            study.run(8, 4, "random", "none", BASELINES)
        assert runner.closed
        assert study.state == "stopped"
        assert study.events()[-2].data == {"reason": "interrupt"}
        assert len(study.trials) == 5
        run(study, 8)
        with Study(MODEL, CLUSTER) as whole:
            run(whole, 8)
            assert sequence(study) == sequence(whole)
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_a_cluster_that_does_not_start_fails_the_study(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from autosync_lab import runtime

    def refuse(cluster: Any) -> Any:
        raise ClusterUnavailable("no namespaces here", stage="start")

    monkeypatch.setattr(runtime, "open_cluster", refuse)
    with pytest.raises(ClusterUnavailable):
        study.run(4, 4, "random", "none")
    assert study.state == "failed"
    assert "no namespaces" in study.events()[-1].data["error"]


def test_a_listener_that_fails_ends_the_run_and_nothing_else(study: Study) -> None:
    def listener(event: StudyEvent) -> None:
        if event.kind == "proposal-round":
            raise RuntimeError("the notebook is gone")

    with pytest.raises(RuntimeError, match="the notebook is gone"):
        run(study, 4, on_event=listener)
    assert study.state == "failed"
    run(study, 4)
    assert len(proposals(study)) == 4


def test_a_study_runs_once_at_a_time(tmp_path: Path) -> None:
    with Study(MODEL, CLUSTER, tmp_path / "t.db") as study, Study(MODEL, CLUSTER, tmp_path / "t.db") as other:

        def script(runner: FakeRunner, trial: Trial) -> Trial:
            assert (study.state, other.state) == ("running", "running")
            for same in (study, other):
                with pytest.raises(InvalidInput, match="running"):
                    run(same)
            return trial

        run(study, 0, FakeRunner(script), baselines=("ps",))
        run(other, 1, baselines=("ps",))


# Events


def test_a_listener_gets_what_a_reader_gets(study: Study) -> None:
    heard: list[StudyEvent] = []
    run(study, 12, on_event=heard.append, confirm=True)
    run(study, 13, on_event=heard.append)
    assert heard == study.events()
    assert [e.number for e in heard] == list(range(1, len(heard) + 1))
    assert {e.kind for e in heard} <= set(EVENT_KINDS)
    assert study.events(since=heard[4].number) == heard[5:]
    count = kinds(heard)
    assert (count["study-started"], count["study-ended"], count["confirmed"]) == (2, 2, 1)
    assert (count["baseline"], count["proposal-round"], count["anchor"]) == (3, 4, 1)
    assert count["trial-started"] == count["trial-ended"] == len(study.trials)
    ended = [e.data for e in heard if e.kind == "trial-ended"]
    assert [(e["number"], e["role"], e["trial"]) for e in ended] == [
        (r.number, r.role, r.trial.id) for r in study.records
    ]
    assert all(e["simulated"] for e in ended)


# Results


def test_best_is_the_least_measured_proposal_or_baseline(study: Study) -> None:
    assert study.best is None
    run(study, 12)
    assert study.speedup is None
    assert study.best is not None
    assert study.best.step_time_s == min(t.step_time_s for t in study.trials)


def test_confirm_measures_three_found_and_two_baselines_in_turns(study: Study) -> None:
    run(study, 12)
    before = len(study.records)
    result = study.confirm(FakeRunner(), repeats=4)
    finals = study.records[before:]
    assert {(r.role, r.round) for r in finals} == {("final", 0)}
    turns = [tuple(r.trial.strategy_id for r in finals[i : i + 5]) for i in range(0, 20, 5)]
    fastest = sorted(study.records[:before], key=lambda r: r.trial.step_time_s)
    expected = {r.trial.strategy_id for r in [r for r in fastest if r.role == "proposal"][:3]}
    expected |= {r.trial.strategy_id for r in [r for r in fastest if r.role == "baseline"][:2]}
    assert all(set(turn) == expected for turn in turns)
    assert len(set(turns)) > 1
    assert result is not None
    assert result == study.speedup
    best, baseline = fastest[0].trial, min(study.baselines, key=lambda t: t.step_time_s)
    assert (result.best_id, result.best_label) == (best.strategy_id, "random")
    assert (result.baseline_id, result.baseline_label) == (baseline.strategy_id, baseline.label)
    assert result.ratio == pytest.approx(baseline.step_time_s / best.step_time_s)
    assert (result.low, result.high) == pytest.approx((result.ratio, result.ratio))
    assert (result.samples, result.confidence, result.simulated) == (4, 0.95, True)


def test_run_confirms_at_its_end_if_anything_is_new(study: Study) -> None:
    run(study, 6, confirm=True)
    assert Counter(roles(study))["final"] == 25
    first = study.speedup
    run(study, 7, confirm=True)
    assert Counter(roles(study))["final"] == 50
    assert first is not None
    assert study.speedup is not None


def test_best_follows_the_confirmation_until_more_is_measured(study: Study) -> None:
    def script(runner: FakeRunner, trial: Trial) -> Trial:
        """The strategy that seemed fastest was lucky."""
        if runner.measured[trial.strategy_id or ""] or trial.strategy_id != lucky:
            return trial
        return Trial(**trial.__dict__ | {"step_times_s": ((0.001, 0.0),)})

    with Study(MODEL, CLUSTER) as other:
        run(other, 8)
        lucky = proposals(other)[-1]
    runner = run(study, 8, FakeRunner(script))
    assert study.best is not None
    assert study.best.strategy_id == lucky
    result = study.confirm(runner)
    assert result is not None
    assert study.best.strategy_id == (result.best_id if result.ratio >= 1 else result.baseline_id) != lucky


def test_an_interrupted_confirm_measures_only_the_rest(study: Study) -> None:
    run(study, 8)

    def script(runner: FakeRunner, trial: Trial) -> Trial:
        if len(runner.labels) == 7:
            raise KeyboardInterrupt
        return trial

    with pytest.raises(KeyboardInterrupt):
        study.confirm(FakeRunner(script))
    rest = FakeRunner()
    study.confirm(rest)
    assert len(rest.labels) == 18
    finals = [r.trial.strategy_id for r in study.records if r.role == "final"]
    assert set(Counter(finals).values()) == {5}
    again = FakeRunner()
    study.confirm(again, repeats=1)
    assert len(again.labels) == 5


def test_there_is_nothing_to_confirm_without_baseline_or_proposal(study: Study) -> None:
    run(study, 0)
    with pytest.raises(InvalidInput, match="nothing to compare"):
        study.confirm(FakeRunner())
    run(study, 0, confirm=True)
    assert study.speedup is None
    assert roles(study) == ["baseline"] * 3


def test_frame_has_one_row_per_trial(study: Study) -> None:
    empty = study.to_frame()
    run(study, 11, confirm=True)
    frame = study.to_frame()
    assert (frame.dtypes == empty.dtypes).all()
    assert frame["role"].tolist() == roles(study)
    assert frame["simulated"].all()
    assert frame["step_time_s"].tolist() == [t.step_time_s for t in study.trials]


def test_a_model_of_the_catalog_can_be_run_from_its_name(tmp_path: Path) -> None:
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model

    with Study(load_model("ncf-small"), load_cluster("local-2"), tmp_path / "t.db") as study:
        run(study, 0, baselines=("ps",))
    with Study.open(tmp_path / "t.db") as study:
        assert study.model.tracer is not None
        assert study.cluster == load_cluster("local-2")


def test_a_study_in_a_store_of_version_2_can_be_read_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "v2.db"
    path.write_bytes((Path(__file__).parents[1] / "data" / "stores" / "v2.db").read_bytes())
    with Study.open(path, "old") as study:
        assert (study.state, study.seed, study.model, study.cluster) == ("ended", 0, MODEL, CLUSTER)
        assert Counter(roles(study)) == {"baseline": 2, "proposal": 3, "final": 5}
        assert [(r.asks, len(r.proposals)) for r in study.rounds] == [((4,), 4)]
        assert study.speedup is not None
        fourth = study.rounds[0].proposals[3].strategy.id
        study.run(4, runner=FakeRunner(), confirm=False)
        assert proposals(study)[3] == fourth


def test_errors_have_the_packages_root() -> None:
    assert issubclass(TrialsFailing, AutoSyncLabError)
