"""Measures of rankings against brute force and closed forms, and how trials are split."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator import Recipe
from autosync_lab.simulator.ranking import (
    SPLITS,
    accuracy_interval,
    evaluate,
    folds,
    hit_rate,
    noise_ceiling,
    overall,
    predict_fold,
    ranking_accuracy,
    regret,
    repeat_noise,
    spearman,
)
from tests.simulator.learned.cases import pair

RNG = np.random.default_rng(0)
MEASURED = RNG.uniform(0.1, 1.0, 30).round(1)
PREDICTED = (MEASURED * RNG.uniform(0.5, 2.0, 30)).round(1)
PAIRS = [pair(), pair("ncf-small"), pair("ncf-small", "emulated-hetero-4")]


def test_ranking_accuracy_counts_pairs() -> None:
    right = []
    for i, j in combinations(range(30), 2):
        if MEASURED[i] != MEASURED[j]:
            said = PREDICTED[i] - PREDICTED[j]
            right.append(0.5 if said == 0 else float((said > 0) == (MEASURED[i] > MEASURED[j])))
    assert ranking_accuracy(PREDICTED, MEASURED) == pytest.approx(np.mean(right))
    assert math.isnan(ranking_accuracy(PREDICTED, np.ones(30)))
    assert ranking_accuracy(MEASURED, MEASURED) == 1.0
    assert ranking_accuracy(-MEASURED, MEASURED) == 0.0


def test_spearman_is_that_of_scipy() -> None:
    assert spearman(PREDICTED, MEASURED) == pytest.approx(stats.spearmanr(PREDICTED, MEASURED).statistic)
    assert math.isnan(spearman(np.ones(30), MEASURED))


def test_regret_and_hits_are_of_those_taken_to_be_the_fastest() -> None:
    measured = np.asarray([3.0, 1.0, 2.0, *[9.0] * 17])
    predicted = np.asarray([1.0, 3.0, 2.0, *[8.0] * 17])
    assert regret(predicted, measured) == pytest.approx(2.0)
    # Two of twenty are taken: 3 s and 2 s.
    assert hit_rate(predicted, measured, 2.5) == 0.5
    assert hit_rate(predicted, measured, 1.0) == 0.0


def test_noise_is_that_of_repetitions() -> None:
    assert repeat_noise([("a", 1.0), ("a", math.e), ("b", 5.0)]) == pytest.approx(math.sqrt(0.5))
    assert math.isnan(repeat_noise([("a", 1.0), ("b", 2.0)]))
    many = [(str(i), math.exp(i + e)) for i in range(400) for e in RNG.normal(0.0, 0.1, 3)]
    assert repeat_noise(many) == pytest.approx(0.1, rel=0.05)


def test_the_ceiling_is_what_true_times_reach() -> None:
    true = np.exp(RNG.normal(0.0, 0.5, 1500))
    measured = true * np.exp(RNG.normal(0.0, 0.1, 1500))
    assert noise_ceiling(measured, 0.1) == pytest.approx(ranking_accuracy(true, measured), abs=0.01)
    assert math.isnan(noise_ceiling(measured, math.nan))


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for _ in range(60):
        true = np.exp(RNG.normal(0.0, 0.5, 40))
        measured = true * np.exp(RNG.normal(0.0, 0.3, 40))
        low, high = accuracy_interval([(true, measured)])
        # Two differences of variances 2 * 0.5 ** 2 and, with noise, 2 * 0.3 ** 2 more: the share of the same sign.
        truth = 0.5 + math.asin(0.5 / math.hypot(0.5, 0.3)) / math.pi
        held += low <= truth <= high
    assert 51 <= held <= 60


@pytest.mark.parametrize("split", SPLITS)
def test_nothing_that_is_ranked_was_learned(split: str) -> None:
    found = list(folds(PAIRS, split, 25, 1))  # type: ignore[arg-type]
    assert [fold.test.key for fold in found] == [p.key for p in PAIRS]
    for fold in found:
        assert (len(fold.own), len(fold.test)) == (25, 75)
        assert not set(fold.own.batch.hashes.tolist()) & set(fold.test.batch.hashes.tolist())
        assert fold.test.key not in [source.key for source in fold.sources]
    models = [{source.cost_model.model.name for source in fold.sources} for fold in found]
    clusters = [{source.cost_model.cluster.name for source in fold.sources} for fold in found]
    if split == "model":
        assert models == [{"ncf-small"}, {"vgg-mini"}, {"vgg-mini"}]
    elif split == "cluster":
        assert clusters == [{"emulated-hetero-4"}, {"emulated-hetero-4"}, {"emulated-4"}]
    else:
        assert [len(fold.sources) for fold in found] == [0 if split == "strategy" else 2] * 3


def test_folds_are_of_their_seed() -> None:
    one, same, other = (
        [fold.test.batch.hashes.tolist() for fold in folds(PAIRS, "strategy", 100, s)] for s in (0, 0, 1)
    )
    assert one == same != other
    assert all(len(keys) == 50 for keys in one)
    with pytest.raises(InvalidInput, match="split"):
        next(folds(PAIRS, "node", 1, 0))  # type: ignore[arg-type]


def test_learning_helps_and_is_told() -> None:
    done = []
    alone, corrected, learned = (
        overall(evaluate(PAIRS, judge, seeds=2, on_fold=lambda i, n: done.append((i, n))))  # type: ignore[arg-type]
        for judge in ("cost-model", "corrected", Recipe("gp"))
    )
    assert done == [(i, 6) for i in range(1, 7)] * 3
    assert alone.accuracy < min(corrected.accuracy, learned.accuracy)
    assert learned.low < learned.accuracy < learned.high
    assert learned.simulated
    assert math.isnan(learned.hit_rate)


def test_scores_are_means_over_splits() -> None:
    baseline = {PAIRS[0].key: float(np.median(PAIRS[0].step_time_s))}
    score = evaluate(PAIRS[:1], "cost-model", seeds=3, baselines_s=baseline)[0]
    each = [
        ranking_accuracy(predict_fold(fold, "cost-model"), fold.test.step_time_s)
        for seed in range(3)
        for fold in folds(PAIRS[:1], "strategy", 100, seed)
    ]
    assert score.accuracy == pytest.approx(np.mean(each))
    assert (score.seeds, score.trained, score.others, score.tested) == (3, 50, 0, 50)
    assert 0.0 <= score.hit_rate <= 1.0
