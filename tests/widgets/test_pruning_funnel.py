import math

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.space.report import PruningStep, SpaceReport, SpaceSize
from autosync_widgets.figures.pruning_funnel import (
    Level,
    PruningFunnel,
    draw_pruning_funnel,
    left_text,
    pruned_text,
    pruning_funnel,
    pruning_funnel_figure,
    size_text,
)


def exactly(value: float) -> SpaceSize:
    return SpaceSize(value, value, value, True)


GUESSED = SpaceSize(4.0, 3.8, 4.1, False)
NONE_FOUND = SpaceSize(math.nan, -math.inf, 2.0, False)
REPORT = SpaceReport(
    exactly(9.0),
    exactly(8.0),
    (
        PruningStep("one", "because", exactly(8.0), exactly(6.0)),
        PruningStep("two", "so", exactly(6.0), GUESSED),
        PruningStep("three", "too", GUESSED, NONE_FOUND),
    ),
)
FUNNEL = pruning_funnel(REPORT, "m on c")


def test_levels_are_everything_locks_and_each_constraint() -> None:
    plain = SpaceReport(exactly(9.0), exactly(9.0), REPORT.steps[:1])
    assert pruning_funnel(plain, "t") == PruningFunnel(
        "t",
        (
            Level("everything valid", "All that runs, and trains right.", exactly(9.0)),
            Level("one", "because", exactly(6.0), 2.0),
        ),
    )
    assert [(x.name, x.size.value, x.pruned) for x in FUNNEL.levels[:4]] == [
        ("everything valid", 9.0, 0.0),
        ("your locks", 8.0, 1.0),
        ("one", 6.0, 2.0),
        ("two", 4.0, 2.0),
    ]


def test_words_say_exact_estimated_and_unknown() -> None:
    everything, *_, two, three = FUNNEL.levels
    assert size_text(exactly(9.0)) == "10^9.0"
    assert size_text(GUESSED) == "about 10^4.0 (10^3.8 to 10^4.1)"
    assert size_text(NONE_FOUND) == "below 10^2.0"
    assert left_text(REPORT) == "below 10^2.0 strategies are left of 10^9.0."
    assert pruned_text(everything) == "pruned nothing"
    assert pruned_text(two) == "pruned all but one in 10^2.0"
    assert pruned_text(three) == "pruned nearly all"


def test_estimates_are_striped_and_have_whiskers() -> None:
    bars = draw_pruning_funnel(FUNNEL)["data"][0]
    assert bars["x"] == [9.0, 8.0, 6.0, 4.0, None]
    assert bars["marker"]["pattern"]["shape"] == ["", "", "", "/", "/"]
    assert bars["error_x"]["visible"]
    assert math.isclose(bars["error_x"]["arrayminus"][3], 0.2, abs_tol=1e-6)
    assert all(math.isfinite(x) for x in bars["error_x"]["array"] + bars["error_x"]["arrayminus"])


def test_a_real_space_ends_at_its_size_and_never_grows() -> None:
    space = StrategySpace(load_model("ncf-small"), load_cluster("emulated-4")).constrain(DEFAULT_CONSTRAINTS)
    data = pruning_funnel(space.report(), "t")
    sizes = [level.size.value for level in data.levels]
    assert sizes[-1] == space.log10_size
    assert sizes == sorted(sizes, reverse=True)
    figure = pruning_funnel_figure(space)
    assert len(figure.data[0].x) == 1 + len(DEFAULT_CONSTRAINTS)
    assert max(len(line) for name in figure.layout.yaxis.ticktext for line in name.split("<br>")) <= 33


def test_an_empty_funnel_can_be_drawn() -> None:
    assert draw_pruning_funnel(PruningFunnel("", ()))["data"][0]["x"] == []
