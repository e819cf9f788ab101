"""What every simulator promises."""

from functools import cache

import numpy as np
import pytest

from autosync_lab.simulator import SIMULATORS, Simulator, make_simulator
from autosync_lab.simulator.ranking import ranking_accuracy
from tests.simulator.learned.cases import HELD_OUT, LEARNED, pair

NAMES = tuple(name for name in SIMULATORS if name != "none")
"""Every simulator; a new one is a new name, and inherits all these tests."""

TRIALS = pair()


def made(name: str) -> Simulator:
    simulator = make_simulator(name, TRIALS.batch.model, TRIALS.batch.cluster)
    assert simulator is not None
    return simulator


def taught(name: str) -> Simulator:
    simulator = made(name)
    simulator.fit(TRIALS.batch[LEARNED], TRIALS.step_time_s[LEARNED])
    return simulator


@cache
def fitted(name: str) -> Simulator:
    """One for all tests that only ask it."""
    return taught(name)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestContract:
    def test_it_is_called_as_people_ask_for_it(self, name: str) -> None:
        assert made(name).name == name

    def test_it_predicts_before_any_trial(self, name: str) -> None:
        simulator = made(name)
        for scores in (simulator.predict(TRIALS.batch), simulator.refine(TRIALS.batch)):
            assert scores.shape == (len(TRIALS),)
            assert np.isfinite(scores).all()

    def test_without_trials_it_says_what_the_cost_model_says(self, name: str) -> None:
        assert made(name).predict(TRIALS.batch) == pytest.approx(TRIALS.cost_model.step_time(TRIALS.batch), rel=1e-5)

    def test_it_ranks_what_it_did_not_see_better_than_before(self, name: str) -> None:
        test, measured = TRIALS.batch[HELD_OUT], TRIALS.step_time_s[HELD_OUT]
        before, after = made(name), fitted(name)
        assert ranking_accuracy(after.refine(test), measured) > ranking_accuracy(before.refine(test), measured)
        assert ranking_accuracy(after.predict(test), measured) > ranking_accuracy(before.predict(test), measured)

    def test_its_seconds_are_near_those_measured(self, name: str) -> None:
        error = np.abs(fitted(name).refine(TRIALS.batch[HELD_OUT]) / TRIALS.step_time_s[HELD_OUT] - 1)
        assert fitted(name).in_seconds
        assert np.median(error) < 0.25

    def test_a_strategys_score_does_not_depend_on_its_batch(self, name: str) -> None:
        whole = fitted(name).predict(TRIALS.batch[HELD_OUT])
        alone = [float(fitted(name).predict(TRIALS.batch[i : i + 1])[0]) for i in (60, 70, 99)]
        assert alone == pytest.approx(whole[[0, 10, 39]], rel=1e-5)

    def test_no_strategy_has_no_score(self, name: str) -> None:
        assert fitted(name).predict(TRIALS.batch[:0]).shape == (0,)
        assert fitted(name).refine(TRIALS.batch[:0]).shape == (0,)

    def test_it_is_a_function_of_the_last_fit(self, name: str) -> None:
        simulator = made(name)
        simulator.fit(TRIALS.batch[:10], TRIALS.step_time_s[:10] * 3)
        simulator.fit(TRIALS.batch[LEARNED], TRIALS.step_time_s[LEARNED])
        assert np.array_equal(simulator.refine(TRIALS.batch), fitted(name).refine(TRIALS.batch))

    def test_one_trial_is_enough_to_go_on(self, name: str) -> None:
        simulator = made(name)
        simulator.fit(TRIALS.batch[:1], TRIALS.step_time_s[:1])
        scores = simulator.refine(TRIALS.batch)
        assert np.isfinite(scores).all()
        assert (scores > 0).all()

    def test_uncertainty_is_a_deviation_or_unknown(self, name: str) -> None:
        uncertainty = fitted(name).uncertainty(TRIALS.batch)
        if uncertainty is not None:
            assert uncertainty.shape == (len(TRIALS),)
            assert (uncertainty >= 0).all()
            assert uncertainty.max() < 1.0


@pytest.mark.parametrize("name", ["gp", "linear", "ensemble"])
def test_it_is_surer_of_what_it_has_seen(name: str) -> None:
    uncertainty = fitted(name).uncertainty(TRIALS.batch)
    assert uncertainty is not None
    assert uncertainty[LEARNED].mean() < uncertainty[HELD_OUT].mean()
