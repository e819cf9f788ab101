"""`diverse_pick`: the best first, then what is good and different."""

import numpy as np
import pytest

from autosync_lab.search.diverse_pick import SIMILARITY_WEIGHT, diverse_pick
from autosync_lab.space import StrategyBatch
from autosync_lab.space.similarity import Likeness
from tests.search.cases import usual_space

BATCH = usual_space().sample(40, seed=2)


def scores(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=len(BATCH))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_is_picked_first_and_none_twice(seed: int) -> None:
    picked = diverse_pick(BATCH, scores(seed), 12)
    assert picked[0] == np.argmin(scores(seed))
    assert len(set(picked.tolist())) == 12


@pytest.mark.parametrize("seed", range(4))
def test_each_pick_is_the_best_by_score_and_likeness_to_those_before(seed: int) -> None:
    score = scores(seed)
    likeness = Likeness(BATCH)
    picked: list[int] = []
    for index in diverse_pick(BATCH, score, 8).tolist():
        value = -score / score.std()
        if picked:
            value = value - SIMILARITY_WEIGHT * np.mean([likeness.to(i) for i in picked], axis=0)
        left = [i for i in range(len(BATCH)) if i not in picked]
        assert value[index] == pytest.approx(max(value[left]))
        picked.append(index)


def test_a_copy_of_the_best_gives_way_to_what_differs() -> None:
    # Candidate 1 is a copy of the best; 2 is as good but for a hundredth of a standard deviation.
    batch = StrategyBatch.concatenate([BATCH[:1], BATCH[:1], BATCH[1:]])
    score = np.where(np.arange(len(batch)) < 3, -1.0, 1.0 + np.arange(len(batch)) / 100)
    score[2] += score.std() / 100
    assert diverse_pick(batch, score, 2).tolist() == [0, 2]
    # Likeness is not everything: a copy is better than what is slow.
    score[2] = 1.0
    assert diverse_pick(batch, score, 2).tolist() == [0, 1]


def test_without_scores_only_likeness_counts() -> None:
    picked = diverse_pick(BATCH, np.zeros(len(BATCH)), 10)
    likeness = Likeness(BATCH)

    def inside(indices: np.ndarray) -> float:
        return float(np.mean([likeness.to(i)[j] for i in indices for j in indices if i != j]))

    assert inside(picked) < inside(np.arange(10))
    assert inside(picked) < inside(np.arange(len(BATCH)))


def test_a_batch_of_few_is_picked_whole() -> None:
    assert sorted(diverse_pick(BATCH[:3], scores(0)[:3], 10).tolist()) == [0, 1, 2]
    assert diverse_pick(BATCH[:3], scores(0)[:3], 0).tolist() == []
    assert diverse_pick(BATCH[:0], np.zeros(0), 4).tolist() == []
