from collections.abc import Callable, Iterator
from typing import Any

import pytest
import traitlets

from autosync_lab.cluster import load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.space import CONSTRAINTS, DEFAULT_CONSTRAINTS, Constraint, PartitionBounds, StrategySpace
from autosync_lab.strategy import Strategy
from autosync_widgets import FunnelPanel, SpacePanel
from autosync_widgets.constraint_words import RULES, rule_text


class NoCredit(Constraint):
    name = "no-credit"
    reason = "Pushes <wait>."

    def holds(self, strategy: Strategy) -> bool:
        return strategy.push_credit == 0


@pytest.fixture
def show() -> Iterator[Callable[..., FunnelPanel]]:
    made: list[FunnelPanel] = []

    def make(*given: Any, **named: Any) -> FunnelPanel:
        made.append(FunnelPanel(*given, **named))
        return made[-1]

    yield make
    for panel in made:
        panel.close()


def on(panel: FunnelPanel) -> list[str]:
    return [name for name, switch in panel._switches.items() if switch.value]


def drawn(panel: FunnelPanel) -> list[str]:
    """Levels of the figure, once it is counted."""
    panel._show_report()
    return [level.name for level in panel._data.levels][1:]


def test_every_constraint_has_words_and_a_switch(show: Callable[..., FunnelPanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    assert set(RULES) == set(CONSTRAINTS) == set(panel._switches)
    assert all(panel._switches[name].tooltip.startswith(RULES[name]) for name in CONSTRAINTS)
    assert on(panel) == list(DEFAULT_CONSTRAINTS) == drawn(panel)


def test_switching_constraints_recounts(show: Callable[..., FunnelPanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    full = panel.space.log10_size
    panel._switches["adjacent-merge"].value = False
    assert "adjacent-merge" not in drawn(panel)
    assert panel.space.log10_size > full
    assert f"10^{panel.space.report().size} strategies are left" in panel._status.value
    panel._switches["adjacent-merge"].value = True
    assert panel.space.log10_size == full
    assert drawn(panel) == list(DEFAULT_CONSTRAINTS)


def test_what_was_counted_before_is_not_counted_again(show: Callable[..., FunnelPanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    panel._switches["adjacent-merge"].value = False
    first = panel.space
    panel._switches["load-balance"].value = False
    panel._switches["load-balance"].value = True
    assert panel.space is first
    panel.space = panel.space.lock("conv0/kernel", synchronizer="ps")
    panel._switches["load-balance"].value = False
    panel._switches["load-balance"].value = True
    assert [lock.variable for lock in panel.space.locks] == ["conv0/kernel"]


def test_there_is_one_load_balancer(show: Callable[..., FunnelPanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    panel._switches["load-balance-softmax"].value = True
    assert "load-balance" not in on(panel)
    panel._switches["load-balance"].value = True
    assert "load-balance-softmax" not in on(panel)


def test_all_none_and_as_a_search(show: Callable[..., FunnelPanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    everything, nothing, search = panel.children[2].children[1:4]
    nothing.click()
    assert (on(panel), drawn(panel)) == ([], [])
    search.click()
    assert on(panel) == list(DEFAULT_CONSTRAINTS)
    everything.click()
    assert on(panel) == [name for name in CONSTRAINTS if name != "load-balance-softmax"]


def test_constraints_of_ones_own_keep_their_bounds_and_can_be_switched(show: Callable[..., FunnelPanel]) -> None:
    space = StrategySpace(load_model("vgg-mini"), load_cluster("emulated-4"))
    space = space.constrain([PartitionBounds(min_bytes=10**9), NoCredit()])
    panel = show(space=space)
    assert on(panel) == ["partition-bounds", "no-credit"]
    panel._switches["no-credit"].value = False
    assert all(len(d.partitions) == 1 for d in panel.space.domain.variables)
    panel._switches["no-credit"].value = True
    assert drawn(panel) == ["partition-bounds", "no-credit"]
    assert "Pushes &lt;wait&gt;." in panel.children[5].children[1].children[-1].value
    assert rule_text(NoCredit()) == "Your own rule 'no-credit'."


def test_a_constraint_that_leaves_nothing_is_explained_and_not_switched(show: Callable[..., FunnelPanel]) -> None:
    model = ModelSpec("m", (Variable("table", (4, 2), sparse=True, touched_rows=1.0),), 4)
    space = StrategySpace(model, load_cluster("emulated-4")).lock("table", synchronizer="ar")
    panel = show(space=space)
    panel._switches["sparse-to-ps"].value = True
    assert "Not switched" in panel._notice.value
    assert "sparse-to-ps" in panel._notice.value
    assert on(panel) == []
    panel._switches["adjacent-merge"].value = True
    assert panel._notice.value == ""
    assert drawn(panel)[0] == "your locks"


def test_linked_panels_share_switches_and_locks(show: Callable[..., FunnelPanel]) -> None:
    funnel = show("vgg-mini", "emulated-4")
    panel = SpacePanel(space=funnel.space)
    traitlets.link((funnel, "space"), (panel, "space"))
    funnel._switches["partition-bounds"].value = False
    assert panel.space is funnel.space
    panel._lock("conv0/kernel", {"synchronizer": "ps"})
    assert "your locks" in drawn(funnel)
    funnel._switches["partition-bounds"].value = True
    assert [lock.variable for lock in panel.space.locks] == ["conv0/kernel"]
    panel.close()


def test_other_semantics_can_be_allowed_and_all_else_stays(show: Callable[..., FunnelPanel]) -> None:
    model = load_model("vgg-mini")
    bounded = StrategySpace(model, load_cluster("emulated-4"), max_shards=3, push_credits=(2,))
    panel = show(space=bounded.constrain(["partition-bounds"]).lock("conv0/kernel", synchronizer="ar"))
    before = panel.space
    panel._lossy.value = True
    panel._asynchronous.value = True
    now = panel.space
    assert (now.lossy, now.asynchronous, now.locks) == (True, True, before.locks)
    assert {s.push_credit for s in now.domain.settings} == {2}
    assert max(p.shards for d in now.domain.variables for p in d.partitions) == 3
    assert on(panel) == ["partition-bounds"]
    assert now.log10_size > before.log10_size
    panel.space = now.lock("conv0/kernel", compressor="fp16")
    panel._lossy.value = False
    assert "Not switched" in panel._notice.value
    assert panel._lossy.value
    panel.space = panel.space.unlock("conv0/kernel")
    panel._lossy.value = panel._asynchronous.value = False
    assert panel.space.domain == before.unlock("conv0/kernel").domain
    panel._switches["partition-bounds"].value = False
    assert not panel.space.lossy


def test_the_funnel_can_be_kept(show: Callable[..., FunnelPanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    panel._show_report()
    assert panel._file().name == "funnel-vgg-mini-on-emulated-4.html"
    assert len(panel.figure().data[0].x) == 1 + len(DEFAULT_CONSTRAINTS)
