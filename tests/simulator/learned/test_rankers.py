"""Rankers against closed forms."""

import numpy as np
import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned.ensemble import Ensemble
from autosync_lab.simulator.learned.gaussian_process import GaussianProcess
from autosync_lab.simulator.learned.linear import PENALTY, Linear
from autosync_lab.simulator.learned.pair_trials import Lesson, log_time
from autosync_lab.simulator.learned.ranker import standardized
from autosync_lab.simulator.learned.ranknet import NOISE, ranknet_gradient, ranknet_loss
from tests.simulator.learned.cases import pair


def lesson(model: str = "vgg-mini") -> Lesson:
    trials = pair(model)
    encoded = Encoded(trials.batch, trials.cost_model, "both", trials.played_s)
    return Lesson(encoded, log_time(trials.cost_model, trials.step_time_s))


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    score, target = rng.normal(0, 0.1, 7), rng.normal(0, 0.1, 7)
    first, second = ranknet_gradient(score, target)
    for i in range(7):
        step = np.eye(7)[i] * 1e-5
        above, below = ranknet_loss(score + step, target), ranknet_loss(score - step, target)
        assert first[i] == pytest.approx((above - below) / 2e-5, rel=1e-5)
        curvature = (above + below - 2 * ranknet_loss(score, target)) / 1e-10
        assert second[i] == pytest.approx(curvature, rel=1e-3)


def test_the_loss_is_least_where_scores_are_the_targets() -> None:
    target = np.asarray([0.3, -0.1, 0.05])
    first, _ = ranknet_gradient(target + 2.0, target)
    assert first == pytest.approx(np.zeros(3), abs=1e-12)
    assert ranknet_loss(1.1 * target, target) > ranknet_loss(target, target) < ranknet_loss(0.9 * target, target)


def test_one_pair_has_the_loss_of_its_odds() -> None:
    # Equal scores, and a target of even odds: log 2.
    assert ranknet_loss(np.zeros(2), np.zeros(2)) == pytest.approx(np.log(2))
    first, _ = ranknet_gradient(np.zeros(2), np.asarray([50.0, 0.0]))
    assert first == pytest.approx(np.asarray([-0.5, 0.5]) / NOISE)


def test_linear_weights_are_those_of_least_squares_with_a_ridge() -> None:
    one = lesson()
    state = Linear().learn([one])
    x = standardized(state, one.encoded)
    x = np.vstack([x - x.mean(axis=0), np.sqrt(PENALTY) * np.eye(x.shape[1])])
    weights = np.linalg.lstsq(x, np.append(one.left, np.zeros(x.shape[1])), rcond=None)[0]
    assert state["weights"] == pytest.approx(weights, abs=1e-8)


def test_a_gaussian_process_follows_its_trials() -> None:
    one = lesson()
    state = GaussianProcess().learn([one])
    correction = GaussianProcess().correction(state, one.encoded)
    assert np.corrcoef(correction, one.left)[0, 1] > 0.9
    assert np.std(one.left - correction) < 0.5 * np.std(one.left)


def test_a_gaussian_process_believes_trials_of_the_pair_more_than_others() -> None:
    one = lesson()
    other = Lesson(lesson("ncf-small").encoded, lesson("ncf-small").target)
    ranker = GaussianProcess()
    both = ranker.learn([one], ranker.learn([other]))
    deviation = ranker.deviation(both, one.encoded)
    assert deviation.mean() < ranker.deviation(ranker.learn([other]), one.encoded).mean()
    # The pair's trials of before are replaced, not told twice.
    again = ranker.learn([one], both)
    assert len(again["left"]) == len(both["left"])


def test_an_ensemble_is_the_mean_of_its_members() -> None:
    one = lesson()
    ensemble = Ensemble([Linear(), GaussianProcess()])
    state = ensemble.learn([one])
    parts = [r.correction(r.learn([one]), one.encoded) for r in (Linear(), GaussianProcess())]
    assert ensemble.correction(state, one.encoded) == pytest.approx(np.mean(parts, axis=0))
    disagreement = np.abs(parts[0] - parts[1]) / 2
    assert (ensemble.deviation(state, one.encoded) >= disagreement).all()
    with pytest.raises(InvalidInput, match="two members"):
        Ensemble([Linear()])
