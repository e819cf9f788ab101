from dataclasses import replace

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.strategy import (
    AllReduce,
    ParameterServer,
    Strategy,
    VariableStrategy,
    build_strategy,
    builder_names,
    traffic_matrix,
)
from autosync_widgets.figures.strategy_diff import (
    MOST_ROWS,
    diff_sentence,
    draw_strategy_diff,
    strategy_diff,
    strategy_diff_figure,
)
from autosync_widgets.figures.variable_plans import VariablePlan, settings_text, variable_plans

CLUSTER = load_cluster("emulated-4")
MODEL = ModelSpec(
    "m", (Variable("table", (8, 4), sparse=True, touched_rows=2.0), Variable("a", (8,)), Variable("b", (8,))), 4
)


def strategy(*entries: VariableStrategy) -> Strategy:
    return Strategy(entries, 4)


ONE = strategy(
    VariableStrategy("table", (ParameterServer("node0"), ParameterServer("node0"), ParameterServer("node1")), 0),
    VariableStrategy("a", (AllReduce(0),)),
    VariableStrategy("b", (AllReduce(2, "fp16"),)),
)
OTHER = strategy(
    VariableStrategy("table", (AllReduce(1),)),
    VariableStrategy("a", (AllReduce(0),)),
    VariableStrategy("b", (ParameterServer("node3", True),)),
)


def test_plans_say_what_happens_to_each_variable() -> None:
    table, a, b = variable_plans(MODEL, CLUSTER, ONE)
    assert replace(table, link_nbytes=0) == VariablePlan(
        "table", 128, "3 on axis 0", "parameter server", "node0 x2, node1", "", "rows", 0
    )
    # A ring of four sends 2 * 3 / 4 of 32 bytes over each of four links.
    assert a == VariablePlan("a", 32, "whole", "all-reduce", "", "0", "float32", 192.0)
    assert (b.wire, b.link_nbytes) == ("fp16", 96.0)
    table, _, b = variable_plans(MODEL, CLUSTER, OTHER)
    assert (table.synchronizer, table.group, table.wire) == ("all-reduce", "1", "rows, gathered")
    assert b.synchronizer == "parameter server, summed per node"


@pytest.mark.parametrize("name", builder_names())
def test_bytes_of_variables_sum_to_the_traffic(name: str) -> None:
    model = load_model("ncf-small")
    built = build_strategy(name, model, CLUSTER)
    total = sum(p.link_nbytes for p in variable_plans(model, CLUSTER, built))
    assert total == pytest.approx(traffic_matrix(model, CLUSTER, built).sum())


def test_mixed_shards_and_many_owners_are_counted() -> None:
    shards = tuple(ParameterServer(f"node{i % 4}") if i < 6 else AllReduce(i) for i in range(12))
    cluster = load_cluster("cluster-a")
    plan = variable_plans(
        ModelSpec("m", (Variable("v", (24,)),), 4), cluster, Strategy((VariableStrategy("v", shards, 0),), 11)
    )[0]
    assert plan.synchronizer == "6 on servers, 6 all-reduced"
    assert plan.destination == "node0 x2, node1 x2, node2, node3"
    assert plan.group == "6 groups"


def test_settings_in_words() -> None:
    assert settings_text(ONE) == "synchronous"
    assert settings_text(ONE.with_settings(push_credit=4)) == "synchronous, 4 pushes in flight"
    assert settings_text(ONE.with_settings(synchronous=False)) == "asynchronous, without a bound"
    assert settings_text(ONE.with_settings(synchronous=False, staleness=1)) == "asynchronous, at most 1 step apart"


def test_a_diff_has_what_differs_and_the_bytes() -> None:
    diff = strategy_diff(MODEL, CLUSTER, ("one", ONE), ("other", OTHER))
    assert [row.differs for row in diff.rows] == [
        ("partition", "synchronizer", "destination", "group", "wire"),
        (),
        ("synchronizer", "destination", "group", "wire"),
    ]
    assert [row.first.variable for row in diff.changed] == ["table", "b"]
    assert diff.rows[2].more_nbytes == 3 * 2 * 32 - 96
    assert "2 of 3 variables differ" in diff_sentence(diff)
    assert diff.looks[0] != diff.looks[1]


def test_the_same_strategy_and_other_settings_are_said() -> None:
    assert "same strategy" in diff_sentence(strategy_diff(MODEL, CLUSTER, ("one", ONE), ("again", ONE)))
    credit = ONE.with_settings(push_credit=4)
    words = diff_sentence(strategy_diff(MODEL, CLUSTER, ("one", ONE), ("credit", credit)))
    assert words == "one is synchronous, credit synchronous, 4 pushes in flight."


def test_the_figure_has_the_variables_that_differ_most() -> None:
    count = MOST_ROWS + 5
    model = ModelSpec("many", tuple(Variable(f"v{i}", (i + 1,)) for i in range(count)), 4)
    ps, ar = (build_strategy(n, model, CLUSTER) for n in ("ps", "all-reduce"))
    spec = draw_strategy_diff(strategy_diff(model, CLUSTER, ("ps", ps), ("all-reduce", ar)))
    assert len(spec["layout"]["yaxis"]["ticktext"]) == MOST_ROWS
    figure = strategy_diff_figure(MODEL, CLUSTER, ("one", ONE), ("other", OTHER))
    assert [t.name for t in figure.data[1:]] == ["one", "other"]
    assert list(figure.layout.yaxis.ticktext) == ["table", "b"]
