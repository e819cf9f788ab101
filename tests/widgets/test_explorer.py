from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import ClusterUnavailable, InvalidInput
from autosync_lab.model import load_model
from autosync_lab.strategy import build_strategy
from autosync_lab.study import TrialStore
from autosync_widgets import Explorer
from tests.widgets.fake_cluster import FakeCluster


@pytest.fixture
def fake() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def explore(fake: FakeCluster) -> Iterator[Callable[..., Explorer]]:
    made: list[Explorer] = []

    def make(**choices: Any) -> Explorer:
        defaults: dict[str, Any] = {"cluster": "local-2", "strategies": ["ps", "horovod"], "steps": 3}
        made.append(Explorer(**(defaults | choices), open_cluster=fake.open))
        return made[-1]

    yield make
    for explorer in made:
        explorer.close()


def click_launch(explorer: Explorer) -> None:
    """Click, and answer as the page does."""
    explorer._view.launch.click()
    trip = explorer._round_trip
    trip._answer(trip, {"answer": trip._number}, [])


def drawn(explorer: Explorer) -> Any:
    """The view, made to show the present state."""
    explorer._draw()
    return explorer._view


def test_launch_measures_what_is_chosen(explore: Callable[..., Explorer], fake: FakeCluster) -> None:
    explorer = explore()
    click_launch(explorer)
    assert explorer.wait(10)
    assert [(t.label, t.status, t.steps) for t in explorer.trials] == [("ps", "ok", 3), ("horovod", "ok", 3)]
    view = drawn(explorer)
    assert view._status.value == '<span role="status">Ended: 2 measured.</span>'
    assert view._bar.value == 1
    assert [t["x"] for t in view._figure.spec["data"]][:2] == [[0.25] * 3] * 2
    assert "vgg-mini on local-2" in view._table.value
    assert (view.launch.disabled, view.stop.disabled, view.close_cluster.disabled) == (False, True, False)
    assert {t.name for t in explorer.figure().data} == {"ps", "horovod", "median"}


def test_everything_is_in_the_pickers(explore: Callable[..., Explorer]) -> None:
    view = explore(model="ncf-small", cluster="emulated-servers", strategies=None)._view
    assert "2 of them only servers" in view._cluster_facts.value
    assert "sparse variables" in view._model_facts.value
    assert view.chosen_strategies == ()
    lossy = [o["name"] for o in view._picker.options if o["lossy"]]
    assert lossy == ["horovod-fp16"]
    assert all(o["sentence"] and o["source"] for o in view._picker.options)
    for name in view._model.options:
        view._model.value = name
        assert "parameters in" in view._model_facts.value
    for name in view._cluster.options:
        view._cluster.value = name
        assert "node" in view._cluster_facts.value


def test_mistakes_are_shown_and_nothing_is_launched(explore: Callable[..., Explorer], fake: FakeCluster) -> None:
    explorer = explore(strategies=[])
    click_launch(explorer)
    assert "Choose at least one strategy." in drawn(explorer)._notice.value
    explorer._view._picker.chosen = ["ps"]
    explorer._view._steps.value = 0
    click_launch(explorer)
    assert "Steps must be between 1 and 10,000 (received 0)" in drawn(explorer)._notice.value
    assert fake.runners == []
    explorer._view._steps.value = 1
    click_launch(explorer)
    assert explorer.wait(10)
    assert drawn(explorer)._notice.value == ""
    assert len(explorer.trials) == 1


def test_a_cluster_that_does_not_start_is_explained(explore: Callable[..., Explorer], fake: FakeCluster) -> None:
    fake.unavailable = ClusterUnavailable("no <namespaces>", stage="network", stderr_tail="EPERM & more")
    explorer = explore()
    click_launch(explorer)
    assert explorer.wait(10)
    view = drawn(explorer)
    assert "not available (stage: network): no &lt;namespaces&gt;" in view._notice.value
    assert "EPERM &amp; more" in view._notice.value
    assert not view.launch.disabled


def test_failures_are_listed_with_their_log_and_keep_their_place(
    explore: Callable[..., Explorer], fake: FakeCluster
) -> None:
    fake.courses = {"ps": "fail"}
    explorer = explore()
    explorer.launch()
    assert explorer.wait(10)
    (first,) = drawn(explorer)._failures.children
    assert "boom" in first.value
    explorer.launch()
    assert explorer.wait(10)
    again, second = drawn(explorer)._failures.children
    assert again is first
    assert second is not first


def test_stop_ends_the_trial_and_keeps_the_workers(explore: Callable[..., Explorer], fake: FakeCluster) -> None:
    fake.courses = {"ps": "hang"}
    explorer = explore()
    click_launch(explorer)
    assert fake.reached.acquire(timeout=10)
    assert explorer._view.launch.disabled or drawn(explorer).launch.disabled
    with pytest.raises(InvalidInput, match="running"):
        explorer.launch()
    drawn(explorer).stop.click()
    assert explorer.wait(10)
    assert [t.status for t in explorer.trials] == ["stopped"]
    assert explorer.worker_pids == {0: 101, 1: 102}
    assert "2 stopped" in drawn(explorer)._status.value
    explorer._view.close_cluster.click()
    assert explorer.wait(10)
    assert explorer.worker_pids == {}


def test_clear_empties_figure_and_table(explore: Callable[..., Explorer]) -> None:
    explorer = explore()
    explorer.launch()
    assert explorer.wait(10)
    drawn(explorer).clear.click()
    view = drawn(explorer)
    assert (view._table.value, view._figure.spec["data"], explorer.trials) == ("", [], ())
    explorer.launch()
    assert explorer.wait(10)
    assert len(explorer.trials) == 2


def test_trials_are_stored_as_they_end(explore: Callable[..., Explorer], tmp_path: Path) -> None:
    path = tmp_path / "trials.db"
    explorer = explore(store=path)
    explorer.launch()
    assert explorer.wait(10)
    with TrialStore.open_readonly(path) as store:
        assert [t.label for t in store.trials()] == ["ps", "horovod"]


def test_a_store_that_refuses_is_a_notice_and_no_loss(explore: Callable[..., Explorer], tmp_path: Path) -> None:
    store = TrialStore(tmp_path / "trials.db")
    explorer = explore(store=store)
    store.close()
    explorer.launch()
    assert explorer.wait(10)
    assert "not in the store" in drawn(explorer)._notice.value
    assert len(explorer.trials) == 2


def test_ones_own_model_cluster_and_strategies(explore: Callable[..., Explorer], tmp_path: Path) -> None:
    model = load_model("lm-small")
    cluster = load_cluster("emulated-4")
    own = build_strategy("ps-load-balanced", model, cluster)
    file = tmp_path / "mine.yml"
    file.write_text("name: mine\nlauncher: local\nnodes:\n  - {name: a}\n  - {name: b}\n")
    explorer = explore(model=model, cluster=cluster, strategies={"mine": own, "also": "ps"})
    explorer.launch()
    assert explorer.wait(10)
    assert [(t.label, t.strategy_id == own.id) for t in explorer.trials] == [("mine", True), ("also", False)]
    assert explore(strategies=[own])._view.chosen_strategies == (own.id,)
    assert explore(cluster=str(file))._view.chosen_cluster == str(file)


def test_a_strategy_for_another_cluster_is_refused_in_the_widget(explore: Callable[..., Explorer]) -> None:
    own = build_strategy("ps", load_model("vgg-mini"), load_cluster("emulated-4"))
    explorer = explore(strategies={"mine": own})
    click_launch(explorer)
    assert "mine does not fit vgg-mini on local-2" in drawn(explorer)._notice.value


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"model": "vgg-mimi"}, "vgg-mini"),
        ({"model": 3}, "ModelSpec"),
        ({"cluster": "emulated-5"}, "emulated-4"),
        ({"cluster": 3}, "ClusterSpec"),
        ({"strategies": ["pss"]}, "did you mean 'ps'"),
        ({"strategies": [3]}, "a strategy is"),
    ],
)
def test_unknown_choices_are_an_error_at_once(explore: Callable[..., Explorer], choice: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        explore(**choice)


def test_updates_stay_small_however_many_points_there_are(
    explore: Callable[..., Explorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    from autosync_widgets.colours import look_of
    from autosync_widgets.figures.step_times import StepTimes, StrategyRow, draw_step_times
    from autosync_widgets.live_figure import LiveFigure

    def figure(points: int) -> Any:
        times = tuple(0.1 + i % 17 / 1000 for i in range(points))
        return draw_step_times(StepTimes("t", (StrategyRow("ps", look_of("ps"), False, times),), ()))

    live = LiveFigure(figure(10_000), "points")
    sent: list[Any] = []
    monkeypatch.setattr(live, "send", lambda content, buffers=None: sent.append(content))
    live.show(figure(10_003))
    assert len(json.dumps(sent)) < 1500
    live.show(figure(10_003))
    assert len(sent) == 1
    live._answer(None, {"say": "hello", "view": "v"}, [])
    assert (sent[1]["say"], sent[1]["view"], sent[1]["number"]) == ("figure", "v", 1)
    assert len(sent[1]["figure"]["data"][0]["x"]) == 10_003


def test_every_tab_is_built_once_it_is_opened(explore: Callable[..., Explorer], fake: FakeCluster) -> None:
    explorer = explore(cluster="emulated-4")
    assert [len(tab.children) for tab in explorer._view.tabs.children[1:]] == [0] * 5
    for title, words in (
        ("Model & cluster", "ModelView"),
        ("Space", "FunnelPanel"),
        ("Search", "SearchPanel"),
        ("Timeline", "TimelinePanel"),
        ("Strategy", "StrategyPanel"),
    ):
        content = explorer.open_tab(title)
        kinds = [type(w).__name__ for w in (content, *content.children)]
        assert words in kinds
    with pytest.raises(InvalidInput, match="did you mean 'Search'"):
        explorer.open_tab("Serch")


def test_tabs_follow_the_model_and_the_cluster(explore: Callable[..., Explorer]) -> None:
    explorer = explore(cluster="emulated-4")
    timeline, search = explorer.open_tab("Timeline"), explorer.open_tab("Search")
    explorer._view._model.value = "ncf-small"
    assert explorer.open_tab("Search") is search
    assert "ncf-small on emulated-4" in search._heading.value
    later = explorer.open_tab("Timeline")
    assert later is not timeline
    later._draw()
    assert "ncf-small on emulated-4" in later._figure.spec["layout"]["title"]["text"]
    explorer._view._cluster.value = "emulated-hetero-4"
    assert explorer.open_tab("Timeline") is not later


def test_the_search_searches_the_space_that_was_changed(explore: Callable[..., Explorer]) -> None:
    explorer = explore(cluster="emulated-4")
    funnel, space = explorer.open_tab("Space").children
    search = explorer.open_tab("Search")
    assert "Only the given space" not in search._heading.value
    explorer.open_tab("Space")
    space.space = funnel.space.lock(funnel.space.model.variables[0].name, synchronizer="ar")
    explorer.open_tab("Search")
    assert "1 variable locked" in search._heading.value
    explorer._view._model.value = "ncf-small"
    assert "Only the given space" not in search._heading.value


def test_what_a_search_found_can_be_looked_at(explore: Callable[..., Explorer], tmp_path: Path) -> None:
    explorer = explore(cluster="local-2", store=tmp_path / "trials.db")
    search = explorer.open_tab("Search")
    search._backend.value, search._trials.value = "simulate", 1
    search.start()
    assert search.wait(60)
    strategies = explorer.open_tab("Strategy")
    assert strategies._first.value == "best found"
    assert strategies.strategy.id == search.best.strategy_id
    assert explorer.open_tab("Timeline")._strategy.value == "best found"
    with TrialStore.open_readonly(tmp_path / "trials.db") as store:
        assert len(store.trials()) == len(search.state.points)
