"""Searches on played clusters."""

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.search import AutoSync, RandomSearch
from autosync_lab.simulator import CorrectedCostModel
from autosync_lab.study.ablations.virtual_search import VirtualCluster, speedups


def _place(seed: int) -> VirtualCluster:
    return VirtualCluster(load_model("ncf-small"), load_cluster("emulated-hetero-4"), seed)


def test_the_truth_is_not_what_is_believed_and_differs_by_seed() -> None:
    baselines = [_place(seed).baseline_s() for seed in range(4)]
    assert len(set(baselines)) == 4
    assert _place(0).truth.calibration != _place(0).belief.calibration
    assert _place(0).truth.calibration == _place(0).truth.calibration


@pytest.mark.parametrize("seed", range(10))
def test_no_truth_has_links_that_carry_more_than_their_bandwidth(seed: int) -> None:
    assert 0.0 < _place(seed).truth.calibration.link_efficiency <= 1.0


def test_a_search_is_reproducible() -> None:
    place = _place(3)
    first, second = (place.search(RandomSearch(place.space(), 3), 10) for _ in range(2))
    assert len(first) == 10
    assert np.array_equal(first, second)


def test_a_simulator_finds_faster_strategies_than_chance() -> None:
    places = [_place(seed) for seed in range(3)]
    drawn = speedups(places, lambda at: RandomSearch(at.space(), at.seed), 12)
    scored = speedups(places, lambda at: AutoSync(at.space(), at.seed, CorrectedCostModel(at.belief)), 12)
    assert np.mean(scored) > np.mean(drawn)


def test_without_generations_proposals_are_draws() -> None:
    place = _place(0)
    simulator = CorrectedCostModel(place.belief)
    algorithm = AutoSync(place.space(), 0, simulator, generations=0)
    pool = AutoSync(place.space(), 0, None)._proposals()
    drawn = set(place.space().sample(pool, AutoSync(place.space(), 0, None).next_seed()).hashes.tolist())
    assert set(algorithm.propose(8).hashes.tolist()) <= drawn
