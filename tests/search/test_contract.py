"""What every search algorithm keeps to."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.search import ALGORITHMS as NAMES
from autosync_lab.search import Observation, SearchAlgorithm, make_algorithm
from autosync_lab.space import StrategyBatch, StrategySpace
from autosync_lab.strategy import Strategy, validate_strategy
from tests.search.cases import ALGORITHMS, Maker, failed, outside, played, run, tiny_space, usual_space

REPLAYED = """
import sys
from tests.search.cases import ALGORITHMS, run, usual_space
algorithm = ALGORITHMS[sys.argv[1]](usual_space(), 9)
print(*run(algorithm, 4, 6), sep="\\n")
"""


@pytest.fixture(scope="module")
def space() -> StrategySpace:
    return usual_space()


@pytest.mark.parametrize("make", ALGORITHMS.values(), ids=ALGORITHMS.keys())
class TestSearchAlgorithm:
    def test_it_proposes_as_many_as_are_wanted_all_different_and_in_the_space(
        self, make: Maker, space: StrategySpace
    ) -> None:
        for n in (1, 8, 19):
            asked = make(space, 1).ask(n)
            assert len({s.id for s in asked}) == len(asked) == n
            for strategy in asked:
                validate_strategy(strategy, space.model, space.cluster)
                assert space.violations(strategy) == ()

    def test_none_are_proposed_if_none_are_wanted(self, make: Maker, space: StrategySpace) -> None:
        assert make(space, 1).ask(0) == []

    def test_it_never_proposes_what_it_has_proposed_or_been_told(self, make: Maker, space: StrategySpace) -> None:
        algorithm = make(space, 2)
        # What it would propose itself, were it not told.
        foretold = make(space, 2).ask(8)
        algorithm.tell(played(space, foretold))
        ids = run(algorithm, 6, 8)
        assert len(set(ids)) == len(ids) == 48
        assert not set(ids) & {s.id for s in foretold}

    def test_what_is_asked_but_never_told_is_not_proposed_again(self, make: Maker, space: StrategySpace) -> None:
        algorithm = make(space, 2)
        ids = [s.id for _ in range(4) for s in algorithm.ask(6)]
        assert len(set(ids)) == 24

    def test_the_same_calls_bring_the_same_proposals(self, make: Maker, space: StrategySpace) -> None:
        assert run(make(space, 4), 4, 6) == run(make(space, 4), 4, 6)

    def test_seeds_differ(self, make: Maker, space: StrategySpace) -> None:
        assert run(make(space, 4), 1, 6) != run(make(space, 5), 1, 6)

    def test_a_fresh_process_proposes_the_same(
        self, make: Maker, space: StrategySpace, request: pytest.FixtureRequest
    ) -> None:
        name = next(n for n, m in ALGORITHMS.items() if m is make)
        there = subprocess.run([sys.executable, "-c", REPLAYED, name], capture_output=True, text=True, check=True)
        assert there.stdout.split() == run(make(space, 9), 4, 6)

    def test_trials_may_all_fail(self, make: Maker, space: StrategySpace) -> None:
        algorithm = make(space, 6)
        ids = []
        for _ in range(3):
            asked = algorithm.ask(7)
            ids += [s.id for s in asked]
            algorithm.tell(failed(asked))
        assert len(set(ids)) == 21
        batch, times = algorithm.measured()
        assert batch is None
        assert len(times) == 0

    def test_failed_trials_are_not_learned_from(self, make: Maker, space: StrategySpace) -> None:
        algorithm = make(space, 6)
        asked = algorithm.ask(6)
        told = played(space, asked[:3]) + failed(asked[3:5]) + [Observation(asked[5], float("inf"))]
        algorithm.tell(told)
        batch, times = algorithm.measured()
        assert batch is not None
        assert [s.id for s in batch] == [s.id for s in asked[:3]]
        assert times.tolist() == [o.step_time_s for o in told[:3]]
        assert len(algorithm.ask(6)) == 6

    def test_baselines_outside_the_space_are_no_parents(self, make: Maker, space: StrategySpace) -> None:
        baselines = outside(space)
        assert baselines
        algorithm = make(space, 7)
        algorithm.tell(played(space, baselines))
        assert algorithm.elite(5) is None
        for _ in range(3):
            asked = algorithm.ask(8)
            assert len(asked) == 8
            assert all(space.violations(s) == () for s in asked)
            algorithm.tell(played(space, asked))

    def test_nothing_may_be_told(self, make: Maker, space: StrategySpace) -> None:
        algorithm = make(space, 8)
        algorithm.tell([])
        assert len(algorithm.ask(3)) == 3

    def test_a_single_trial_is_enough_to_go_on(self, make: Maker, space: StrategySpace) -> None:
        algorithm = make(space, 8)
        algorithm.tell(played(space, algorithm.ask(1)))
        assert len(algorithm.ask(4)) == 4

    def test_a_space_with_no_more_to_find_brings_fewer(self, make: Maker, space: StrategySpace) -> None:
        tiny = tiny_space()
        size = round(10**tiny.log10_size)
        algorithm = make(tiny, 1)
        found: list[Strategy] = []
        for _ in range(3):
            asked = algorithm.ask(size)
            found += asked
            algorithm.tell(played(tiny, asked))
        assert len({s.id for s in found}) == len(found) == size
        assert algorithm.ask(4) == []


@pytest.mark.parametrize("name", NAMES)
def test_algorithms_know_their_names(name: str, space: StrategySpace) -> None:
    assert make_algorithm(name, space, 0).name == name


def test_an_unknown_name_is_told_the_nearest(space: StrategySpace) -> None:
    with pytest.raises(InvalidInput, match=r"unknown search algorithm.*did you mean 'genetic'"):
        make_algorithm("genetics", space, 0)


class Stubborn(SearchAlgorithm):
    """Proposes the same, again and again."""

    name = "stubborn"

    def __init__(self, space: StrategySpace, seed: int) -> None:
        super().__init__(space, seed)
        self.calls: Iterator[int] = iter(range(10**6))

    def propose(self, n: int) -> StrategyBatch:
        next(self.calls)
        return self.space.sample(3, 0)


def test_asking_ends_though_an_algorithm_has_run_dry(space: StrategySpace) -> None:
    algorithm = Stubborn(space, 0)
    assert len(algorithm.ask(5)) == 3
    assert algorithm.ask(5) == []


def test_the_elite_is_the_fastest_in_the_space(space: StrategySpace) -> None:
    algorithm = Stubborn(space, 0)
    strategies = list(space.sample(6, 1))
    times = [3.0, 1.0, float("nan"), 2.0, 2.0, 5.0]
    algorithm.tell([Observation(s, t) for s, t in zip(strategies, times, strict=True)])
    elite = algorithm.elite(3)
    assert elite is not None
    assert [s.id for s in elite] == [strategies[i].id for i in (1, 3, 4)]
    assert np.isfinite(algorithm.measured()[1]).all()
