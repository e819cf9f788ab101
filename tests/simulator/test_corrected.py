"""`CorrectedCostModel`: the cost model until trials say otherwise."""

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import load_model
from autosync_lab.simulator import SIMULATORS, Calibration, CorrectedCostModel, CostModel, make_simulator
from autosync_lab.simulator.timeline import play
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategyBatch, StrategySpace

CLUSTER = load_cluster("emulated-servers")
MODEL = load_model("vgg-mini")
COST = CostModel(MODEL, CLUSTER)
SPACE = StrategySpace(MODEL, CLUSTER).constrain(DEFAULT_CONSTRAINTS)
SEEN, UNSEEN = SPACE.sample(40, 1), SPACE.sample(40, 2)


def exact(batch: StrategyBatch) -> np.ndarray:
    """What the timeline says."""
    return np.asarray([play(COST, strategy).step_time_s for strategy in batch])


def fitted(factor: float, count: int) -> CorrectedCostModel:
    model = CorrectedCostModel(COST)
    model.fit(SEEN[:count], exact(SEEN[:count]) * factor)
    return model


def test_without_trials_it_is_the_cost_model() -> None:
    model = CorrectedCostModel(COST)
    assert model.in_seconds
    assert np.array_equal(model.predict(UNSEEN), COST.step_time(UNSEEN))
    assert np.array_equal(model.refine(UNSEEN), exact(UNSEEN))


def test_trials_as_predicted_change_nothing() -> None:
    assert fitted(1.0, 20).refine(UNSEEN) == pytest.approx(exact(UNSEEN))


@pytest.mark.parametrize("factor", [0.6, 1.7, 2.3])
def test_a_constant_factor_is_found(factor: float) -> None:
    assert fitted(factor, 40).refine(UNSEEN) / exact(UNSEEN) == pytest.approx(factor, rel=0.04)
    # Few trials are believed halfway at least.
    few = np.log(fitted(factor, 3).refine(UNSEEN) / exact(UNSEEN)) / np.log(factor)
    assert few.min() > 0.5
    assert few.max() <= 1.0 + 1e-9


def test_no_correction_is_beyond_e() -> None:
    for factor, most in ((100.0, np.e), (0.01, 1 / np.e)):
        assert fitted(factor, 30).refine(UNSEEN) == pytest.approx(exact(UNSEEN) * most)


def test_a_single_trial_is_enough_to_go_on() -> None:
    prediction = fitted(1.5, 1).refine(UNSEEN)
    assert np.isfinite(prediction).all()
    assert (prediction > 0).all()


def test_only_the_last_fit_counts() -> None:
    model = fitted(2.0, 30)
    model.fit(SEEN, exact(SEEN))
    assert model.refine(UNSEEN) == pytest.approx(exact(UNSEEN))


def test_it_is_deterministic() -> None:
    assert np.array_equal(fitted(1.3, 25).refine(UNSEEN), fitted(1.3, 25).refine(UNSEEN))


def test_trials_of_another_cluster_than_was_thought_help() -> None:
    truth = CostModel(MODEL, CLUSTER, Calibration(link_efficiency=0.7, push_s=4e-3, collective_s=2e-2, step_s=3e-2))

    def measured(batch: object) -> np.ndarray:
        return np.asarray([play(truth, s).step_time_s for s in batch])  # type: ignore[attr-defined]

    model = CorrectedCostModel(COST)
    model.fit(SEEN, measured(SEEN))

    def error(prediction: np.ndarray) -> float:
        return float(np.median(np.abs(prediction / measured(UNSEEN) - 1)))

    assert error(model.predict(UNSEEN)) < error(COST.step_time(UNSEEN))
    assert error(model.refine(UNSEEN)) < error(model.predict(UNSEEN))


def test_simulators_by_their_names() -> None:
    for name in SIMULATORS:
        made = make_simulator(name, MODEL, CLUSTER)
        assert made is None if name == "none" else made is not None and made.name == name
    calibrated = make_simulator("cost-model", MODEL, CLUSTER, Calibration(step_s=5.0))
    assert calibrated is not None
    assert calibrated.predict(UNSEEN).min() > 5.0
    with pytest.raises(InvalidInput, match=r"unknown simulator.*did you mean 'cost-model'"):
        make_simulator("cost_model", MODEL, CLUSTER)
