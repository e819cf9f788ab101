from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import load_model
from autosync_lab.simulator import CostModel
from autosync_lab.space import StrategyBatch
from autosync_lab.strategy import build_strategy, builder_names
from autosync_widgets import StrategyPanel
from autosync_widgets.download_button import DownloadButton
from autosync_widgets.wording import seconds_text

MODEL, CLUSTER = load_model("vgg-mini"), load_cluster("emulated-4")


@pytest.fixture
def show() -> Iterator[Callable[..., StrategyPanel]]:
    made: list[StrategyPanel] = []

    def make(*given: Any, **named: Any) -> StrategyPanel:
        made.append(StrategyPanel("vgg-mini", "emulated-4", *given, **named))
        return made[-1]

    yield make
    for panel in made:
        panel.close()


def headings(panel: StrategyPanel) -> list[str]:
    return [c["label"] for c in panel._table.columns]


def test_one_strategy_is_shown_alone(show: Callable[..., StrategyPanel]) -> None:
    panel = show(["all-reduce"])
    assert [t["name"] for t in panel._traffic.spec["data"]] == ["all-reduce"]
    assert [r["n"] for r in panel._table.rows] == [v.name for v in MODEL.variables]
    assert "difference" not in headings(panel)
    assert panel._diff.layout.display == panel._only.layout.display == "none"
    assert "cross the links in a step" in panel._traffic.description


def test_two_strategies_are_compared(show: Callable[..., StrategyPanel]) -> None:
    panel = show(["ps", "partitioned-ps"])
    assert [t["name"] for t in panel._traffic.spec["data"]] == ["ps", "partitioned-ps"]
    assert "difference" in headings(panel)
    # Cut differently, the same bytes travel: there is nothing to draw.
    assert panel._diff.layout.display == "none"
    assert "What differs" in panel._diff_text.value
    every = len(panel._table.rows)
    panel._only.value = True
    assert 0 < len(panel._table.rows) <= every
    assert all(any(cell.get("e") for cell in r["c"]) for r in panel._table.rows)
    assert any("→" in cell["t"] for cell in panel._table.rows[0]["c"])
    panel.choose("ps", "ps")
    assert "difference" not in headings(panel)
    panel.choose("ps", "horovod-fp16")
    assert panel._diff.layout.display is None
    assert panel._diff.spec["layout"]["yaxis"]["ticktext"]


def test_every_builder_can_be_chosen(show: Callable[..., StrategyPanel]) -> None:
    panel = show()
    for name in builder_names():
        panel.choose(name)
        assert panel.strategy == build_strategy(name, MODEL, CLUSTER)
        assert f"<b>{name}</b>" in panel._facts.value
    with pytest.raises(InvalidInput, match="did you mean 'ps'"):
        panel.choose("pss")


def test_what_is_predicted_is_labelled_simulated(show: Callable[..., StrategyPanel]) -> None:
    panel = show(["ps", "all-reduce"])
    panel._show_simulated()
    strategies = [build_strategy(n, MODEL, CLUSTER) for n in ("ps", "all-reduce")]
    times = CostModel(MODEL, CLUSTER).step_time(StrategyBatch.encode(strategies, MODEL, CLUSTER))
    for seconds in times:
        assert f"{seconds_text(seconds)} (simulated)" in panel._table_of_facts.value


def test_the_figures_are_a_page(show: Callable[..., StrategyPanel]) -> None:
    assert show({"my own": build_strategy("byteps", MODEL, CLUSTER)})._page().text.count("Plotly.newPlot(") >= 1


def test_what_a_form_cannot_say_is_told_until_another_strategy_is_chosen(show: Callable[..., StrategyPanel]) -> None:
    panel = show(["ps", "all-reduce"])
    *_, horovod, page = [b for b in panel._export.children[0].children if isinstance(b, DownloadButton)]
    assert (horovod.label, page.label) == ("Horovod module", "Figures as HTML")
    click = {"say": "make"}
    horovod._hear(None, click, [])
    told = panel._export.children[1]
    assert "Horovod has no parameter servers" in told.value
    assert f"variable &#x27;{MODEL.variables[0].name}&#x27;" in told.value
    panel.choose("all-reduce")
    assert told.value == ""
    horovod._hear(None, click, [])
    assert told.value == ""


def test_the_figure_has_what_is_shown(show: Callable[..., StrategyPanel]) -> None:
    assert [t.name for t in show(["ps", "horovod-fp16"]).figure().data] == ["ps", "horovod-fp16"]


def test_labels_cannot_inject_html(show: Callable[..., StrategyPanel]) -> None:
    evil = "<img src=x onerror=alert(1)>"
    panel = show({evil: "ps"})
    html = panel._facts.value + panel._table_of_facts.value + panel._diff_text.value
    assert "<img" not in html


def test_a_strategy_for_another_cluster_is_refused_at_once() -> None:
    own = build_strategy("ps", MODEL, load_cluster("emulated-a"))
    with pytest.raises(InvalidInput, match="replicas"):
        StrategyPanel("vgg-mini", "emulated-4", {"mine": own})


def test_a_lossy_strategy_says_so_and_has_a_bound_of_its_own(show: Callable[..., StrategyPanel]) -> None:
    panel = show(["horovod", "horovod-fp16"])
    lossless, lossy = panel._shown_facts
    assert lossy.bound_s < lossless.bound_s
    assert "results change" in panel._table_of_facts.value
    assert "results stay the same" in panel._table_of_facts.value
