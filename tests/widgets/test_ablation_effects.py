import math

from autosync_lab.study.ablations import Comparison
from autosync_widgets.figures.ablation_effects import ablation_effects, ablation_figure, draw_ablation_effects
from tests.widgets.comparisons import COMPARISONS


def test_effects_are_grouped_by_metric() -> None:
    speedups, trials = ablation_effects(COMPARISONS)
    assert (speedups.metric, speedups.larger_is_better) == ("speedup", True)
    assert (trials.metric, trials.larger_is_better) == ("trials", False)
    first, second = speedups.effects
    assert first.label == "a change, here (simulated)"
    assert first.samples == (1.0, 1.5)
    assert (first.mean, first.verdict) == (1.25, "no clear difference")
    assert (second.label, second.verdict) == ("another, there", "worse")
    assert trials.effects[0].label == "a third"
    assert first.caption.endswith("The paper: 2x.")


def test_each_metric_has_its_axes_from_top_to_bottom() -> None:
    spec = draw_ablation_effects(ablation_effects(COMPARISONS))
    assert [t["uid"] for t in spec["data"]] == ["samples", "means", "samples2", "means2"]
    assert [t["yaxis"] for t in spec["data"]] == ["y", "y", "y2", "y2"]
    above, below = spec["layout"]["yaxis"]["domain"], spec["layout"]["yaxis2"]["domain"]
    assert 1.0 > above[1] > above[0] > below[1] > below[0] >= 0.0
    assert spec["data"][1]["marker"]["symbol"] == ["circle-open", "triangle-down"]
    assert spec["data"][3]["marker"]["symbol"] == ["triangle-up"]
    assert "less is better" in spec["layout"]["xaxis2"]["title"]["text"]


def test_a_comparison_without_an_interval_has_no_whiskers() -> None:
    one = Comparison("x", "a change", "here", "m", True, (1.0,), (2.0,), False, "nothing", "")
    none = Comparison("x", "nothing", "here", "m", True, (), (), False, "nothing", "")
    means = draw_ablation_effects(ablation_effects([one, none]))["data"][1]
    assert (means["x"], means["error_x"]["array"]) == ([1.0], [0.0])
    assert math.isnan(ablation_effects([one])[0].effects[0].low)


def test_the_figure_stands_alone() -> None:
    assert len(ablation_figure(COMPARISONS).data) == 4
    assert len(ablation_figure([]).data) == 0
