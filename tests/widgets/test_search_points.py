import math

import pytest

from autosync_widgets.colours import ALL_REDUCE, SERVER
from autosync_widgets.search_points import ACCURACY_WINDOW, extended, kind_of
from tests.study.trial_factory import ALL_REDUCE as REDUCED
from tests.study.trial_factory import ON_ONE_SERVER
from tests.widgets.requests import FP16
from tests.widgets.search_study import study_record


def test_a_point_says_how_gradients_travel() -> None:
    baseline, found, lossy = extended(
        (),
        [
            study_record(1, role="baseline", label="horovod", strategy=REDUCED),
            study_record(2, strategy=ON_ONE_SERVER),
            study_record(3, strategy=FP16),
        ],
    )
    assert (baseline.look.colour, baseline.look.symbol, baseline.name) == (ALL_REDUCE, "diamond", "horovod")
    assert (found.kind, found.look.colour, found.lossy, found.name) == (
        "parameter server",
        SERVER,
        False,
        "autosync #2",
    )
    assert (lossy.kind, lossy.look.symbol, lossy.lossy) == ("all-reduce", "diamond-open", True)
    assert "lossy" in lossy.caption
    assert kind_of(None) == "all-reduce"
    (again,) = extended((), [study_record(4, role="final", strategy=ON_ONE_SERVER)])
    assert again.look == found.look


def test_the_best_so_far_is_of_baselines_and_proposals_that_succeeded() -> None:
    points = extended(
        (),
        [
            study_record(1, status="failed", stage="build"),
            study_record(2, 0.4, "baseline"),
            study_record(3, 0.5),
            study_record(4, 0.1, "anchor"),
            study_record(5, 0.3),
        ],
    )
    assert math.isnan(points[0].best_s)
    assert [p.best_s for p in points[1:]] == [0.4, 0.4, 0.4, 0.3]
    assert "failed (build)" in points[0].caption


def test_ranking_accuracy_counts_pairs() -> None:
    times = [(0.1, 1.0), (0.2, 3.0), (0.3, 2.0), (0.3, 4.0)]
    points = extended((), [study_record(i, s, predicted_s=p) for i, (p, s) in enumerate(times, 1)])
    # Of 3 pairs one is wrong; of 6 pairs one is wrong and one is a tie, which counts half.
    assert [p.accuracy for p in points[1:]] == pytest.approx([1.0, 2 / 3, 4.5 / 6])
    assert math.isnan(points[0].accuracy)


def test_equal_times_have_no_order() -> None:
    points = extended((), [study_record(i, 0.5, predicted_s=0.1 * i) for i in (1, 2)])
    assert math.isnan(points[1].accuracy)


def test_points_do_not_depend_on_how_many_came_at_once() -> None:
    records = [
        study_record(i, 0.1 + i * 37 % 11 / 10, predicted_s=math.nan if i % 5 == 0 else 0.1 + i * 29 % 13 / 10)
        for i in range(1, 2 * ACCURACY_WINDOW)
    ]
    at_once = extended((), records)
    one_by_one = ()
    for record in records:
        one_by_one = extended(one_by_one, [record])
    assert repr(one_by_one) == repr(at_once)


def test_captions_cannot_inject_html() -> None:
    (point,) = extended((), [study_record(1, label="<img src=x>")])
    assert "<img" not in point.caption
    assert "measured" in point.caption
    (simulated,) = extended((), [study_record(1, simulated=True)])
    assert "simulated" in simulated.caption
    assert "measured" not in simulated.caption
