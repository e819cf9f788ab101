"""What a data set's plan holds, and what of it is left to measure."""

from dataclasses import replace

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategyBatch, StrategySpace
from autosync_lab.study.data_set.plan import RANDOM, RANDOM_PRUNED, REPEATED, ROUND, Planned, missing, plan
from tests.study.trial_factory import make_trial

MODEL, CLUSTER = load_model("ncf-small"), load_cluster("emulated-servers")


def _trial(planned: Planned, name: str, **changes: object) -> object:
    return make_trial(name, label=planned.label, strategy=planned.strategy, **changes)


def test_half_of_the_random_strategies_are_pruned_ones() -> None:
    drawn = [p for r in plan(MODEL, CLUSTER, 30)[1:] for p in r]
    assert sum(p.label == RANDOM for p in drawn) == 15
    pruned = [p.strategy for p in drawn if p.label == RANDOM_PRUNED]
    assert len(pruned) == 15
    space = StrategySpace(MODEL, CLUSTER, lossy=True).constrain(DEFAULT_CONSTRAINTS)
    assert space.check(StrategyBatch.encode(pruned, MODEL, CLUSTER)).all()


def test_a_longer_plan_begins_with_the_shorter_one() -> None:
    short, long = plan(MODEL, CLUSTER, 20), plan(MODEL, CLUSTER, 60)
    assert long[: len(short)] == short
    assert sum(len(r) for r in long) > sum(len(r) for r in short)


def test_every_round_ends_with_a_strategy_that_is_measured_before() -> None:
    rounds = plan(MODEL, CLUSTER, 50)
    seen = {p.strategy.id for p in rounds[0]}
    repeated = set()
    for one in rounds[1:]:
        assert len(one) == ROUND + 1
        seen |= {p.strategy.id for p in one[:-1]}
        assert one[-1].label == REPEATED
        assert one[-1].strategy.id in seen
        repeated.add(one[-1].strategy.id)
    assert len(repeated) == 3


def test_a_plan_without_random_strategies_has_the_builders_only() -> None:
    (built,) = plan(MODEL, CLUSTER, 0)
    assert "horovod" in {p.label for p in built}
    assert len({p.strategy.id for p in built}) == len(built)


@pytest.mark.parametrize("done", [0, 1, 7, 25, 60])
def test_what_is_missing_and_what_is_measured_make_the_plan(done: int) -> None:
    rounds = plan(MODEL, CLUSTER, 40)
    flat = [p for r in rounds for p in r]
    measured = [_trial(p, f"t{i}") for i, p in enumerate(flat[:done])]
    left = missing(rounds, measured)  # type: ignore[arg-type]
    assert len(left) == len(rounds)
    assert [p for r in left for p in r] == flat[done:]


def test_a_stopped_trial_is_measured_again_and_a_failed_one_is_not() -> None:
    rounds = plan(MODEL, CLUSTER, 0)
    first, second = rounds[0][:2]
    stopped = replace(_trial(first, "a"), status="stopped")  # type: ignore[type-var]
    failed = replace(_trial(second, "b"), status="failed")  # type: ignore[type-var]
    (left,) = missing(rounds, [stopped, failed])  # type: ignore[list-item]
    assert first in left
    assert second not in left


def test_what_a_search_measured_counts_for_a_first_trial_but_for_no_repetition() -> None:
    rounds = plan(MODEL, CLUSTER, 10)
    again = rounds[1][-1]
    first = next(p for r in rounds for p in r if p.strategy == again.strategy and p.label != REPEATED)
    (built, drawn) = missing(rounds, [make_trial("a", label="proposal", strategy=again.strategy)])
    assert first not in built
    assert again in drawn
