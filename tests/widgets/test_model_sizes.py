import pytest

from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_widgets.figures.model_sizes import (
    MOST_NAMES,
    ModelSizes,
    SizeBar,
    draw_model_sizes,
    model_sizes,
    model_sizes_figure,
)

TABLE = Variable("table", (100, 4), sparse=True, touched_rows=10.0)
KERNEL = Variable("kernel", (4, 2))
BOTH = ModelSpec("both", (TABLE, KERNEL), 8)


def test_variables_stay_in_forward_order_with_their_bytes() -> None:
    assert model_sizes(BOTH) == ModelSizes(
        "both",
        (SizeBar("table", (100, 4), 1600, 160.0, True), SizeBar("kernel", (4, 2), 32, 32.0, False)),
    )


def test_a_sparse_variable_is_striped_and_solid_as_far_as_a_step_touches_it() -> None:
    dense, table, touched = draw_model_sizes(model_sizes(BOTH))["data"]
    assert (dense["x"], dense["y"]) == ([1], [32])
    assert (table["x"], table["y"]) == ([0], [1600])
    assert "pattern" in table["marker"]
    assert (touched["x"], touched["y"]) == ([0], [160.0])


def test_only_a_model_with_sparse_variables_needs_a_legend() -> None:
    assert draw_model_sizes(model_sizes(BOTH))["layout"]["showlegend"]
    dense = ModelSpec("dense", (KERNEL,), 8)
    assert [t["uid"] for t in draw_model_sizes(model_sizes(dense))["data"]] == ["dense"]
    assert not draw_model_sizes(model_sizes(dense))["layout"]["showlegend"]


@pytest.mark.parametrize(("count", "named"), [(1, True), (MOST_NAMES, True), (MOST_NAMES + 1, False), (1000, False)])
def test_names_are_written_where_there_is_room(count: int, named: bool) -> None:
    model = ModelSpec("many", tuple(Variable(f"v{i}", (i + 1,)) for i in range(count)), 8)
    spec = draw_model_sizes(model_sizes(model))
    assert bool(spec["layout"]["xaxis"]["ticktext"]) is named
    assert len(spec["data"][0]["x"]) == count


def test_a_scalar_and_both_scales_can_be_drawn() -> None:
    scalar = ModelSpec("scalar", (Variable("scale", ()),), 8)
    assert "one number" in draw_model_sizes(model_sizes(scalar))["data"][0]["customdata"][0]
    assert model_sizes_figure(load_model("ncf-small"), log=True).layout.yaxis.type == "log"
    assert model_sizes_figure(load_model("ncf-small")).layout.yaxis.type == "linear"
