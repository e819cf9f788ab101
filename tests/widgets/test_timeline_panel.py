from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from autosync_lab.errors import ClusterUnavailable, InvalidInput
from autosync_lab.runtime.trial import Event, Trial
from autosync_lab.simulator import VirtualRunner
from autosync_lab.strategy import build_strategy
from autosync_widgets.panels.timeline_panel import TimelinePanel
from tests.study.fake_measuring import CLUSTER, MODEL

RUNNABLE = replace(MODEL, tracer=lambda: None)


class Tracing:
    """A cluster whose trials have one event."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.closed = False

    def measure(self, model: Any, strategy: Any, **settings: Any) -> Trial:
        assert settings["trace"]
        with VirtualRunner(CLUSTER) as runner:
            trial = runner.measure(model, strategy, **settings)
        event = Event("replica 0 on a", "compute", "measured work", 0.0, 0.5)
        return replace(trial, simulated=False, events=(event,), **self.changes)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def make() -> Iterator[Callable[..., TimelinePanel]]:
    panels: list[TimelinePanel] = []

    def make(*arguments: Any, model: Any = RUNNABLE, **settings: Any) -> TimelinePanel:
        panels.append(TimelinePanel(model, CLUSTER, *arguments, **settings))
        return panels[-1]

    yield make
    for panel in panels:
        panel.close()


def drawn(panel: TimelinePanel) -> list[str]:
    """Headings of the steps that are shown."""
    panel._draw()
    return [a["text"] for a in panel._figure.spec["layout"]["annotations"]]


def test_the_predicted_step_is_there_at_once(make: Callable[..., TimelinePanel]) -> None:
    panel = make(["horovod"])
    assert [h.split("</b>")[0] for h in drawn(panel)] == ["<b>predicted (simulated)"]
    assert "horovod" in panel.figure().layout.title.text
    panel.choose("ps")
    drawn(panel)
    assert {"push", "pull", "apply"} <= {t["uid"] for t in panel._figure.spec["data"]}
    with pytest.raises(InvalidInput, match="did you mean 'ps'"):
        panel.choose("pss")


def test_a_measured_step_comes_below(make: Callable[..., TimelinePanel]) -> None:
    cluster = Tracing()
    panel = make(["ps"], open_cluster=lambda _: cluster)
    panel._measure.click()
    assert panel.wait(30)
    assert cluster.closed
    assert [h.split("</b>")[0] for h in drawn(panel)] == ["<b>predicted (simulated)", "<b>measured"]
    assert any("measured work" in text for text in panel._figure.spec["data"][0]["customdata"])
    assert "Measured." in panel._status.value
    assert not panel._measure.disabled


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (Tracing(status="failed", stage="build", error="<exited>"), "ps failed in stage build: &lt;exited&gt;"),
        (ClusterUnavailable("no namespaces", stage="network"), "no namespaces (stage: network)"),
        (InvalidInput("not here"), "not here"),
        (RuntimeError("nobody foresaw this"), "RuntimeError: nobody foresaw this"),
    ],
)
def test_what_went_wrong_is_one_line(make: Callable[..., TimelinePanel], cluster: Any, words: str) -> None:
    def open_cluster(_: Any) -> Any:
        if isinstance(cluster, Exception):
            raise cluster
        return cluster

    panel = make(["ps"], open_cluster=open_cluster)
    panel.measure()
    assert panel.wait(30)
    assert words in panel._notice.value
    assert len(drawn(panel)) == 1
    assert not panel._measure.disabled


def test_traced_trials_can_be_chosen(make: Callable[..., TimelinePanel]) -> None:
    ps = build_strategy("ps", MODEL, CLUSTER)
    with VirtualRunner(CLUSTER) as runner:
        traced = runner.measure(MODEL, ps, label="first", trace=True)
        plain = runner.measure(MODEL, ps, label="second")
    panel = make(trials=[traced, plain])
    assert panel._strategy.value == "first"
    # What a simulator played is no measurement.
    assert [h.split("</b>")[0] for h in drawn(panel)] == ["<b>predicted (simulated)", "<b>simulated"]
    panel.choose("second")
    assert len(drawn(panel)) == 1
    with pytest.raises(InvalidInput, match="another model or cluster"):
        make(trials=[replace(traced, model_hash="other")])


def test_one_worker_can_be_shown_alone(make: Callable[..., TimelinePanel]) -> None:
    panel = make(["horovod"])
    drawn(panel)
    workers = [value for _, value in panel._workers.options][1:]
    assert workers == ["replica 0 on a", "replica 1 on b"]
    panel._workers.value = workers[1]
    assert "1 worker more not shown" in drawn(panel)[0]
    assert panel._figure.spec["layout"]["yaxis"]["ticktext"] == ["replica 1 on b"]


def test_what_cannot_be_measured_here_says_so(make: Callable[..., TimelinePanel]) -> None:
    panel = make(model=MODEL)
    assert panel._measure.disabled
    assert "only be simulated" in panel._status.value
