"""Reports: what each constraint prunes, in rows, text and tables."""

import itertools
import math

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, SpaceSize, StrategySpace
from tests.space.cases import BIAS, PAIR, TABLE, TWO_ON_A_NODE, Case


def test_every_step_starts_where_the_last_one_ended() -> None:
    space = Case((BIAS, TABLE), TWO_ON_A_NODE).space.lock("bias", synchronizer="ar").constrain(DEFAULT_CONSTRAINTS)
    report = space.report()
    assert [step.constraint for step in report] == list(DEFAULT_CONSTRAINTS)
    before = report.locked
    for step in report:
        assert step.before == before
        assert step.after.value <= before.value + 1e-9
        before = step.after
    assert report.size == before
    assert report.log10_size == space.log10_size
    assert report.locked.value < report.valid.value


def test_each_step_is_the_size_of_the_space_so_far() -> None:
    space = Case((BIAS, TABLE), PAIR).space
    report = space.constrain(DEFAULT_CONSTRAINTS).report()
    for i, step in enumerate(report):
        assert step.after.value == pytest.approx(space.constrain(DEFAULT_CONSTRAINTS[: i + 1]).log10_size)


def test_rows_text_and_table_say_the_same() -> None:
    locked = Case((BIAS, TABLE), PAIR).space.lock("bias", shards=2)
    for space, first in ((locked, ["valid", "locked"]), (locked.unlock("bias"), ["valid"])):
        report = space.constrain(["sparse-to-ps", "load-balance-softmax"]).report()
        rows = report.to_rows()
        assert [row["constraint"] for row in rows] == [*first, "sparse-to-ps", "load-balance-softmax"]
        assert [row["exact"] for row in rows] == [True] * (len(rows) - 1) + [False]
        assert all(row["reason"] for row in rows)
        assert rows[-1]["log10_after_low"] <= rows[-1]["log10_after"] <= rows[-1]["log10_after_high"]
        assert report.to_frame().to_dict("records") == rows
        assert [line.split()[0] for line in str(report).splitlines()[1:]] == [
            *(f"({name})" for name in first),
            "sparse-to-ps",
            "load-balance-softmax",
        ]


def test_sizes_are_written_with_what_is_known_of_them() -> None:
    assert str(SpaceSize(3.04, 3.04, 3.04, True)) == "3.0"
    assert str(SpaceSize(3.04, 2.96, 3.11, False)) == "about 3.0 (3.0 to 3.1)"
    assert str(SpaceSize(math.nan, -math.inf, 3.11, False)) == "below 3.1"


def test_a_full_size_space_is_reported_sampled_and_pruned_step_by_step() -> None:
    space = StrategySpace(load_model("bert-large"), load_cluster("cluster-b"))
    pruned = space.constrain(DEFAULT_CONSTRAINTS)
    sizes = [pruned.report().valid.value, *(step.after.value for step in pruned.report())]
    assert len(pruned.report()) == len(DEFAULT_CONSTRAINTS)
    assert all(later <= earlier for earlier, later in itertools.pairwise(sizes))
    assert sizes[-1] < sizes[0] / 10
    batch = pruned.sample(2_000, seed=1)
    assert len(batch) == 2_000
    assert batch.nbytes <= 1 << 30
    assert len(np.unique(batch.hashes)) == 2_000
    assert pruned.check(batch).all()
    # Of all valid strategies nearly all have the most shards that there can be.
    assert space.sample_uniform(4, seed=1).nbytes / 4 * 2_000 <= 1 << 30


def test_a_full_size_lossy_space_with_a_locked_compressor_is_counted_and_drawn_from() -> None:
    model = load_model("bert-large")
    space = StrategySpace(model, load_cluster("cluster-b"), lossy=True)
    locked = space.lock(model.variables[-1].name, compressor="fp16").lock(model.variables[-3].name, compressor="none")
    assert locked.log10_size < space.log10_size
    assert locked.check(locked.sample_uniform(3)).all()
