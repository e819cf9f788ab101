"""Ablations on a small data set that is played: every one gives comparisons that say what they are."""

from dataclasses import replace

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import load_model
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator import Calibration, CostModel
from autosync_lab.simulator.learned import LearnedSimulator, Recipe
from autosync_lab.study.ablations import ABLATIONS, Settings, ablate, ablation_frame, proposals, simulators
from autosync_lab.study.ablations import constraints as constraint_ablation
from autosync_lab.study.ablations.measured_pairs import measured_pairs
from autosync_lab.study.ablations.transfer import replay, trials_needed
from autosync_lab.study.data_set import DataSet
from autosync_lab.study.data_set.plan import plan
from tests.study.trial_factory import make_trial

MODELS = {name: load_model(name) for name in ("ncf-small", "lm-small")}
CLUSTERS = {name: load_cluster(name) for name in ("emulated-4", "emulated-servers")}


def _played(model: str, cluster: str) -> list[Trial]:
    cost = CostModel(MODELS[model], CLUSTERS[cluster])
    rounds = plan(MODELS[model], CLUSTERS[cluster], 20)
    trials = []
    for i, planned in enumerate(p for r in rounds for p in r):
        seconds = cost.timeline(planned.strategy).step_time_s * float(np.exp(0.02 * np.sin(7 * i)))
        trials.append(
            make_trial(
                f"{model}-{cluster}-{i}",
                label=planned.label,
                strategy=planned.strategy,
                model=model,
                model_hash=MODELS[model].hash,
                cluster=cluster,
                cluster_hash=CLUSTERS[cluster].hash,
                step_times_s=((seconds,),),
            )
        )
    return trials


@pytest.fixture(scope="module")
def data_set() -> DataSet:
    trials = tuple(t for m in MODELS for c in CLUSTERS for t in _played(m, c))
    return DataSet(trials, MODELS, CLUSTERS, {c: Calibration.typical(CLUSTERS[c]) for c in CLUSTERS})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer pairs, and no networks: their own tests train them."""
    pairs = (("ncf-small", "emulated-4"),)
    monkeypatch.setattr(proposals, "PAIRS_OF_SIMULATOR", pairs)
    monkeypatch.setattr(proposals, "PAIRS_OF_PROPOSALS", pairs)
    monkeypatch.setattr(constraint_ablation, "PAIRS", pairs)
    changes = (
        ("rankers", "gp instead of linear", Recipe("linear", prior=False), Recipe("gp", prior=False), "nothing", ""),
        ("features", "correct the cost model", Recipe("gp", prior=False), Recipe("gp"), "nothing", ""),
    )
    monkeypatch.setattr(simulators, "CHANGES", changes)


def test_each_strategy_is_once_in_a_measured_pair(data_set: DataSet) -> None:
    pairs = measured_pairs(data_set)
    assert len(pairs) == 4
    for (m, c), pair in pairs.items():
        ids = {t.strategy_id for t in data_set.of(m, c)}
        assert len(pair.trials) == len(ids) < len(data_set.of(m, c))
        assert pair.baseline_s in {t.step_time_s for t in data_set.of(m, c)}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_says_what_was_compared(data_set: DataSet, name: str) -> None:
    told: list[tuple[str, float]] = []
    found = ablate([name], Settings(data_set, range(2), 6, 2, lambda what, share: told.append((what, share))))
    assert found
    shares = [share for _, share in told]
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0
    for comparison in found:
        assert len(comparison.without) == len(comparison.with_it) >= 2
        assert np.isfinite([*comparison.without, *comparison.with_it]).all()
        assert comparison.simulated == (name in ("proposals", "simulator") or comparison.where.startswith("ncf"))
    frame = ablation_frame(found)
    assert len(frame) == len(found)
    assert set(frame["verdict"]) <= {"better", "worse", "no clear difference"}


@pytest.mark.usefixtures("quick")
def test_the_same_seeds_give_the_same_figures(data_set: DataSet) -> None:
    names = ["constraints", "rankers", "features", "transfer"]
    first, second = (ablate(names, Settings(data_set, range(2), 6, 2)) for _ in range(2))
    assert first == second


def test_an_unknown_ablation_is_refused(data_set: DataSet) -> None:
    with pytest.raises(InvalidInput, match="constraints"):
        ablate(["constraint"], Settings(data_set))


def test_too_few_trials_are_told(data_set: DataSet) -> None:
    with pytest.raises(InvalidInput, match="0 of them"):
        ablate(["transfer"], Settings(replace(data_set, trials=data_set.trials[:10])))


def test_trials_are_counted_until_one_is_near_the_fastest() -> None:
    assert trials_needed([2.0, 1.04, 1.0], 1.0) == 2
    assert trials_needed([2.0, 1.06], 1.0) == 3


def test_a_replayed_search_measures_nothing_twice(data_set: DataSet) -> None:
    pair = measured_pairs(data_set)["ncf-small", "emulated-4"].trials
    chosen = replay(LearnedSimulator(pair.cost_model, Recipe("gp")), pair, len(pair) + 5)
    assert sorted(chosen) == sorted(pair.step_time_s.tolist())
