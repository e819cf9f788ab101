from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.space import Constraint, StrategySpace
from autosync_lab.strategy import Strategy
from autosync_widgets import SpacePanel


class NoCredit(Constraint):
    name = "my-rule"
    reason = "Pushes wait."

    def holds(self, strategy: Strategy) -> bool:
        return strategy.push_credit == 0


@pytest.fixture
def show() -> Iterator[Callable[..., SpacePanel]]:
    made: list[SpacePanel] = []

    def make(*given: Any, **named: Any) -> SpacePanel:
        made.append(SpacePanel(*given, **named))
        return made[-1]

    yield make
    for panel in made:
        panel.close()


def click(panel: SpacePanel, aspect: str, choice: str) -> None:
    variable = panel._board.board["variable"]
    panel._board._hear(None, {"say": "choose", "variable": variable, "aspect": aspect, "choice": choice}, [])


def counts(panel: SpacePanel, variable: str) -> dict[str, str]:
    row = next(r for r in panel._table.rows if r["n"] == variable)
    return {c["label"]: cell["t"] for c, cell in zip(panel._table.columns, row["c"], strict=True)}


def test_the_largest_variable_is_shown_first_and_any_other_when_it_is_selected(
    show: Callable[..., SpacePanel],
) -> None:
    panel = show("ncf-small", "emulated-hetero-4")
    model = load_model("ncf-small")
    assert [r["n"] for r in panel._table.rows] == [v.name for v in model.variables]
    assert panel._board.board["variable"] == max(model.variables, key=lambda v: v.nbytes).name
    panel._table.selected = "mlp0/bias"
    assert panel._board.board["variable"] == "mlp0/bias"
    assert counts(panel, "mlp0/bias")["sparse as"] == "—"
    assert any(r["b"] == ["sparse"] for r in panel._table.rows)


def test_a_click_locks_and_a_second_one_unlocks(show: Callable[..., SpacePanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    before = panel.space
    panel._table.selected = "conv0/kernel"
    assert counts(panel, "conv0/kernel")["synchronizer"] == "2 of 3"
    click(panel, "synchronizer", "parameter server")
    assert counts(panel, "conv0/kernel")["synchronizer"] == "1 of 3"
    click(panel, "destination", "node2")
    assert dict(panel.space.locks[0].choices) == {"destination": "node2"}
    assert "locked" in next(r for r in panel._table.rows if r["n"] == "conv0/kernel")["b"]
    assert panel.space.log10_size < before.log10_size
    click(panel, "destination", "node2")
    assert panel.space.locks == ()
    click(panel, "synchronizer", "all-reduce")
    panel._board._hear(None, {"say": "unlock", "variable": "conv0/kernel"}, [])
    assert panel.space.log10_size == before.log10_size
    assert "Nothing is locked" in panel._locks.value


def test_unlock_everything(show: Callable[..., SpacePanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    assert panel._unlock_all.disabled
    for name in ("conv0/kernel", "conv0/bias"):
        panel._table.selected = name
        click(panel, "synchronizer", "all-reduce")
    assert "2 variables locked" in panel._locks.value
    panel._unlock_all.click()
    assert panel.space.locks == ()


def test_a_lock_that_leaves_nothing_is_explained_and_not_made(show: Callable[..., SpacePanel]) -> None:
    panel = show("ncf-small", "emulated-4")
    panel._table.selected = "user_mlp/embeddings"
    click(panel, "synchronizer", "all-reduce")
    assert "Not locked" in panel._notice.value
    assert "sparse-to-ps" in panel._notice.value
    assert panel.space.locks == ()
    click(panel, "destination", "node1")
    assert panel._notice.value == ""


def test_its_size_is_counted_and_a_space_that_is_set_is_shown(show: Callable[..., SpacePanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    panel._show_size()
    report = panel.space.report()
    assert f"10^{report.size} strategies are left of 10^{report.valid}." in panel._facts.value
    small = StrategySpace(ModelSpec("<one>", (Variable("v", (4,)),), 4), load_cluster("local-2"))
    panel.space = small
    panel._show_size()
    assert "&lt;one&gt; on local-2" in panel._facts.value
    assert [r["n"] for r in panel._table.rows] == ["v"]
    assert panel._board.board["variable"] == "v"


def test_a_rule_of_ones_own_is_said_to_be_tested_on_whole_strategies(show: Callable[..., SpacePanel]) -> None:
    space = StrategySpace(load_model("vgg-mini"), load_cluster("emulated-4")).constrain(NoCredit())
    assert "my-rule: tested on whole strategies" in show(space=space)._facts.value


def test_the_grid_can_be_kept(show: Callable[..., SpacePanel]) -> None:
    panel = show("vgg-mini", "emulated-4")
    assert len(panel.figure().data[0].z) == len(panel.space.model.variables)
    assert panel._file().name == "space-vgg-mini-on-emulated-4.html"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": "vgg-mimi"}, "vgg-mini"),
        ({"cluster": "emulated-5"}, "emulated-4"),
        ({"space": 3}, "StrategySpace"),
    ],
)
def test_what_does_not_exist_is_an_error_at_once(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        SpacePanel(**given)


def test_a_space_and_a_model_are_one_too_many() -> None:
    space = StrategySpace(load_model("vgg-mini"), load_cluster("emulated-4"))
    with pytest.raises(InvalidInput, match="one or the other"):
        SpacePanel("vgg-mini", space=space)
