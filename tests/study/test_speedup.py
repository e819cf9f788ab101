import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosync_lab.errors import InvalidInput
from autosync_lab.study import Speedup
from autosync_lab.study.finals import Finalist, finalists, speedup, turn_order
from autosync_lab.study.history import Role, StudyTrial
from autosync_lab.study.speedup import bootstrap_ratio
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER, make_trial

times = st.lists(st.floats(0.01, 10.0), min_size=1, max_size=9)


@given(baseline=times, best=times)
def test_the_interval_holds_the_ratio_of_medians(baseline: list[float], best: list[float]) -> None:
    ratio, low, high = bootstrap_ratio(baseline, best, seed=0)
    assert ratio == pytest.approx(np.median(baseline) / np.median(best))
    assert min(baseline) / max(best) <= low * (1 + 1e-9)
    assert high <= max(baseline) / min(best) * (1 + 1e-9)
    assert low <= high


def test_it_agrees_with_every_resample_there_is() -> None:
    """Three trials each: 27 x 27 equally likely resamples."""
    baseline, best = (1.0, 1.5, 2.5), (0.5, 0.75, 0.875)
    ratios = [np.median(a) / np.median(b) for a in product(baseline, repeat=3) for b in product(best, repeat=3)]
    exact = np.quantile(ratios, [0.025, 0.975])
    assert bootstrap_ratio(baseline, best, seed=1)[1:] == pytest.approx(tuple(exact), rel=1e-6)


def test_it_covers_the_true_ratio_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(100):
        baseline, best = 2.0 * rng.lognormal(0, 0.1, 15), rng.lognormal(0, 0.1, 15)
        _, low, high = bootstrap_ratio(baseline, best, seed)
        covered += low <= 2.0 <= high
    assert 88 <= covered <= 100


def test_same_seed_same_interval() -> None:
    once, twice, other = (bootstrap_ratio(np.arange(1.0, 9.0), np.arange(2.0, 7.0), seed) for seed in (1, 1, 2))
    assert once == twice
    assert once[0] == other[0]


def test_a_ratio_needs_trials() -> None:
    with pytest.raises(InvalidInput, match="at least one trial"):
        bootstrap_ratio([], [1.0], 0)


def record(number: int, role: Role, seconds: float, **changes: object) -> StudyTrial:
    return StudyTrial(number, role, 0, make_trial(str(number), step_times_s=((seconds,),), **changes))


def many(count: int) -> list[StudyTrial]:
    return [
        record(
            i, role, 1.0 + (i * 7) % 5 + i / 10, strategy=ALL_REDUCE.with_settings(push_credit=i), label=f"{role}-{i}"
        )
        for i, role in enumerate(["baseline"] * 3 + ["proposal"] * count)  # type: ignore[list-item]
    ]


def test_finalists_are_the_three_best_found_and_the_two_best_baselines() -> None:
    assert [f.label for f in finalists(many(5))] == [
        "proposal-5",
        "proposal-3",
        "proposal-6",
        "baseline-0",
        "baseline-1",
    ]
    assert [f.baseline for f in finalists(many(5))] == [False, False, False, True, True]


def test_fewer_take_part_where_there_are_fewer() -> None:
    assert len(finalists(many(1))) == 3
    assert finalists(many(0)) == ()
    assert finalists([record(1, "proposal", 1.0)]) == ()
    assert finalists([record(1, "proposal", 1.0, status="failed"), record(2, "baseline", 1.0)]) == ()


def test_the_order_of_turns_is_random_and_repeatable() -> None:
    orders = [turn_order(5, 0, 0, turn) for turn in range(20)]
    assert all(sorted(order) == list(range(5)) for order in orders)
    assert len({order[0] for order in orders}) == 5
    assert orders == [turn_order(5, 0, 0, turn) for turn in range(20)]
    assert orders != [turn_order(5, 1, 0, turn) for turn in range(20)]


FOUND = Finalist("autosync", ALL_REDUCE, baseline=False)
BASE = Finalist("ps", ON_ONE_SERVER, baseline=True)


def test_speedup_compares_medians_of_the_finals() -> None:
    finals = [record(i, "final", s) for i, s in enumerate([1.0, 2.0, 9.0])]
    finals += [record(10 + i, "final", s, strategy=ON_ONE_SERVER) for i, s in enumerate([4.0, 3.0, 5.0])]
    finals += [record(20, "final", 0.1, status="failed")]
    result = speedup((FOUND, BASE), finals, seed=0)
    assert result is not None
    assert (result.best_label, result.best_id, result.baseline_label) == ("autosync", ALL_REDUCE.id, "ps")
    assert result.ratio == 2.0
    assert (result.best_times_s, result.baseline_times_s) == ((1.0, 2.0, 9.0), (4.0, 3.0, 5.0))
    assert (result.samples, result.simulated) == (3, False)
    assert Speedup.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_one_simulated_trial_makes_the_speedup_a_simulated_one() -> None:
    finals = [record(1, "final", 1.0), record(2, "final", 2.0, strategy=ON_ONE_SERVER, simulated=True)]
    result = speedup((FOUND, BASE), finals, seed=0)
    assert result is not None
    assert result.simulated


def test_there_is_no_speedup_if_one_side_only_failed() -> None:
    finals = [record(1, "final", 1.0), record(2, "final", 2.0, strategy=ON_ONE_SERVER, status="failed")]
    assert speedup((FOUND, BASE), finals, seed=0) is None


@pytest.mark.parametrize("document", [None, {}, {"ratio": 1.0}, {"best_times_s": 1, "baseline_times_s": []}])
def test_what_is_no_speedup(document: object) -> None:
    with pytest.raises(InvalidInput, match="no speedup"):
        Speedup.from_json(document)
