"""The grid and the choices of a variable, against every strategy of tiny spaces."""

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy
from autosync_widgets.figures.space_choices import GROUPINGS, Choice, variable_choices
from autosync_widgets.figures.space_grid import (
    MOST_TEXTS,
    GridCell,
    cell_text,
    draw_space_grid,
    space_grid,
    space_grid_figure,
)
from autosync_widgets.figures.space_stages import LOCK, space_stages
from tests.space.cases import CASES, Case

ENUMERATED = ("partition", "synchronizer", "destination", "local replication", "compressor", "sparse as")

# Which destinations a load balancer leaves depends on the whole strategy, so its column is no set of nodes.
RULES = tuple(name for name in DEFAULT_CONSTRAINTS if name != "load-balance")


def made(strategies: list[Strategy], variable: Variable, index: int) -> dict[str, set[object]]:
    """What strategies choose for one variable, aspect by aspect."""
    found: dict[str, set[object]] = {aspect: set() for aspect in ENUMERATED}
    for strategy in strategies:
        entry = strategy.variables[index]
        servers = [s for s in entry.shards if isinstance(s, ParameterServer)]
        reduced = [s for s in entry.shards if isinstance(s, AllReduce)]
        found["partition"].add((entry.axis, len(entry.shards)))
        found["synchronizer"].add((bool(servers), bool(reduced)))
        found["destination"] |= {s.destination for s in servers}
        found["local replication"] |= {s.local_replication for s in servers}
        found["compressor"] |= {s.compressor for s in reduced}
        found["sparse as"] |= {s.sparse_as for s in reduced} if variable.sparse else set()
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_counts_are_those_of_every_strategy_that_is_left(case: Case) -> None:
    space = case.space.constrain(RULES)
    left = [s for s in case.everything if all(rule.holds(s) for rule in space.constraints)]
    grid = space_grid(space)
    for index, (variable, row) in enumerate(zip(case.model.variables, grid.rows, strict=True)):
        valid, kept = made(list(case.everything), variable, index), made(left, variable, index)
        cells = dict(zip(grid.aspects, row.cells, strict=True))
        assert {a: (len(kept[a]), len(valid[a])) for a in cells if a != "group"} == {
            a: (c.left, c.valid) for a, c in cells.items() if a != "group"
        }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_choices_of_a_variable_are_those_that_its_row_counts(case: Case) -> None:
    space = case.space.constrain(RULES)
    grid = space_grid(space)
    for index, row in enumerate(grid.rows):
        counted = {a: c for a, c in zip(grid.aspects, row.cells, strict=True) if c.valid}
        for aspect in variable_choices(space, index).aspects:
            cell = counted.pop(aspect.aspect)
            assert (len([c for c in aspect.choices if not c.pruned_by]), len(aspect.choices)) == (cell.left, cell.valid)
            assert {c.pruned_by for c in aspect.choices} - {""} <= set(cell.pruned_by)
        assert counted == {}


def test_reasons_name_what_took_a_choice_first() -> None:
    model = ModelSpec("tables", (Variable("table", (64, 8), sparse=True, touched_rows=4.0), Variable("bias", (8,))), 4)
    space = StrategySpace(model, load_cluster("emulated-4")).constrain(DEFAULT_CONSTRAINTS)
    aspects = {a.aspect: a for a in variable_choices(space, 0).aspects}
    assert aspects["synchronizer"].choices == (
        Choice("parameter server", "", (("synchronizer", "ps"),)),
        Choice("all-reduce", "sparse-to-ps", (("synchronizer", "ar"),)),
        Choice("both, by shard", "sparse-to-ps"),
    )
    ((name, reason),) = aspects["synchronizer"].reasons
    assert (name, reason) == ("sparse-to-ps", space.constraints[0].reason)
    assert "load-balance chooses" in aspects["destination"].note
    assert all(not c.pruned_by for c in aspects["destination"].choices)
    grid = space_grid(space)
    assert grid.rows[0].cells[grid.aspects.index("destination")] == GridCell(1, 4, ("load-balance",))


def test_groups_need_others_to_be_fused_with() -> None:
    cluster = load_cluster("emulated-4")

    def groups(*variables: Variable, rules: tuple[str, ...] = ()) -> list[str]:
        space = StrategySpace(ModelSpec("m", variables, 4), cluster, max_shards=1).constrain(rules)
        aspect = next(a for a in variable_choices(space, 0).aspects if a.aspect == "group")
        return [c.text for c in aspect.choices if not c.pruned_by]

    a, b, c = (Variable(name, (4,)) for name in "abc")
    table = Variable("table", (4, 4), sparse=True, touched_rows=1.0)
    assert groups(a) == list(GROUPINGS[:2])
    assert groups(a, b) == list(GROUPINGS[:3])
    assert groups(a, b, c) == list(GROUPINGS)
    assert groups(a, b, c, rules=("adjacent-merge",)) == [GROUPINGS[1], GROUPINGS[2]]
    assert groups(a, table, rules=("sparse-to-ps",)) == list(GROUPINGS[:2])


def test_locks_are_the_first_step_and_are_marked() -> None:
    free = StrategySpace(load_model("vgg-mini"), load_cluster("emulated-4"))
    name = free.model.variables[0].name
    space = free.constrain(["adjacent-merge"]).lock(name, synchronizer="ps", destination="node2")
    grid = space_grid(space)
    assert [row.variable for row in grid.rows if row.locked] == [name]
    assert grid.rows[0].cells[grid.aspects.index("destination")] == GridCell(1, 4, (LOCK,))
    aspect = next(a for a in variable_choices(space, 0).aspects if a.aspect == "destination")
    reduced = free.constrain(["load-balance"]).lock(name, synchronizer="ar")
    assert next(a for a in variable_choices(reduced, 0).aspects if a.aspect == "destination").note == ""
    assert [(c.text, c.pruned_by, c.locked) for c in aspect.choices[1:3]] == [
        ("node1", LOCK, False),
        ("node2", "", True),
    ]
    assert space_stages(space).valid == free.domain
    assert space_stages(space).left == space.domain


@pytest.mark.parametrize("count", [1, MOST_TEXTS, MOST_TEXTS + 1])
def test_any_number_of_variables_can_be_drawn(count: int) -> None:
    model = ModelSpec("m", tuple(Variable(f"v{i}", (4,)) for i in range(count)), 4)
    space = StrategySpace(model, load_cluster("emulated-4"))
    heat = draw_space_grid(space_grid(space))["data"][0]
    assert len(heat["z"]) == count
    assert ("texttemplate" in heat) is (count <= MOST_TEXTS)
    assert space_grid_figure(space).layout.title.text == "m on emulated-4"


def test_cells_in_words() -> None:
    assert cell_text(GridCell(2, 3)) == "2 of 3"
    assert cell_text(GridCell(0, 0)) == "—"
