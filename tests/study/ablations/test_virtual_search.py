"""Searches on played clusters."""

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.search import AutoSync, RandomSearch
from autosync_lab.simulator import CorrectedCostModel
from autosync_lab.study.ablations.proposals import ALGORITHMS, SECONDS, speedup
from autosync_lab.study.ablations.quick_simulator import QuickCorrected
from autosync_lab.study.ablations.virtual_search import VirtualCluster


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
    drawn, scored = (
        [speedup("ncf-small", "emulated-hetero-4", seed, name, 12) for seed in range(3)]
        for name in ("random", "scored draws")
    )
    assert np.mean(scored) > np.mean(drawn)


def test_a_speedup_is_that_of_the_search() -> None:
    place = _place(1)
    found = place.search(RandomSearch(place.space(), 1), 9)[-1]
    assert speedup("ncf-small", "emulated-hetero-4", 1, "random", 9) == place.baseline_s() / found


def test_every_kind_of_proposals_has_a_duration() -> None:
    assert set(SECONDS) == set(ALGORITHMS)


def test_a_quick_simulator_plays_no_candidate() -> None:
    place = _place(0)
    batch = place.space().sample(5, 0)
    quick = QuickCorrected(place.belief)
    assert np.array_equal(quick.refine(batch), place.belief.step_time(batch))


def test_without_generations_proposals_are_draws() -> None:
    place = _place(0)
    simulator = CorrectedCostModel(place.belief)
    algorithm = AutoSync(place.space(), 0, simulator, generations=0)
    pool = AutoSync(place.space(), 0, None)._proposals()
    drawn = set(place.space().sample(pool, AutoSync(place.space(), 0, None).next_seed()).hashes.tolist())
    assert set(algorithm.propose(8).hashes.tolist()) <= drawn
