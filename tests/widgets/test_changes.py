import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from autosync_widgets.figures.changes import changes, flat

Spec = dict[str, Any]


def apply(spec: Spec, steps: list[Spec]) -> Spec:
    """What the page does with changes, on plain data."""
    result = copy.deepcopy(spec)
    for step in steps:
        if step["do"] == "add":
            result["data"].append(step["trace"])
        elif step["do"] == "extend":
            for key, tail in step["arrays"].items():
                result["data"][step["trace"]][key] += tail
        else:
            target = result["layout"] if step["do"] == "relayout" else result["data"][step["trace"]]
            for dotted, value in step["values"].items():
                *path, last = dotted.split(".")
                inner = target
                for part in path:
                    inner = inner.setdefault(part, {})
                if value is None:
                    inner.pop(last)
                else:
                    inner[last] = value
    return result


def same(a: Spec, b: Spec) -> bool:
    return [flat(t) for t in a["data"]] == [flat(t) for t in b["data"]] and flat(a["layout"]) == flat(b["layout"])


numbers = st.lists(st.integers(0, 3), max_size=4)
traces = st.fixed_dictionaries(
    {"type": st.sampled_from(["scatter", "bar"]), "x": numbers, "y": numbers},
    optional={"marker": st.fixed_dictionaries({"size": st.integers(0, 3)}, optional={"color": numbers})},
)
figures = st.fixed_dictionaries(
    {
        "data": st.lists(traces, max_size=3),
        "layout": st.dictionaries(st.sampled_from("abc"), numbers | st.dictionaries(st.sampled_from("pq"), numbers)),
    }
)


def with_uids(figure: Spec) -> Spec:
    for index, trace in enumerate(figure["data"]):
        trace["uid"] = f"t{index}"
    return figure


@given(figures.map(with_uids), figures.map(with_uids))
def test_changes_turn_one_figure_into_the_other(old: Spec, new: Spec) -> None:
    # A key is either a number list or a group of values in a real figure, never one and then the other.
    for key in set(old["layout"]) & set(new["layout"]):
        if isinstance(old["layout"][key], dict) != isinstance(new["layout"][key], dict):
            new["layout"][key] = old["layout"][key]
    before, after = copy.deepcopy(old), copy.deepcopy(new)
    steps = changes(old, new)
    assert (old, new) == (before, after)
    if steps is not None:
        assert same(apply(old, steps), new)


@given(figures.map(with_uids))
def test_nothing_changes_between_equal_figures(figure: Spec) -> None:
    assert changes(figure, copy.deepcopy(figure)) == []


def test_growing_arrays_send_their_tail_only() -> None:
    old = {"data": [{"uid": "a", "type": "scatter", "x": [0] * 10_000, "y": [1] * 10_000}], "layout": {}}
    new = {"data": [{"uid": "a", "type": "scatter", "x": [0] * 10_000 + [5], "y": [1] * 10_000 + [6]}], "layout": {}}
    assert changes(old, new) == [{"do": "extend", "trace": 0, "arrays": {"x": [5], "y": [6]}}]


def test_a_trace_that_became_another_is_drawn_anew() -> None:
    old = {"data": [{"uid": "a", "type": "scatter"}, {"uid": "b", "type": "scatter"}], "layout": {}}
    assert changes(old, {"data": old["data"][:1], "layout": {}}) is None
    assert changes(old, {"data": [old["data"][0], {"uid": "c", "type": "scatter"}], "layout": {}}) is None
    assert changes(old, {"data": [old["data"][0], {"uid": "b", "type": "scattergl"}], "layout": {}}) is None


def test_a_new_trace_is_added_and_a_lost_value_is_removed() -> None:
    old = {"data": [], "layout": {"shapes": [1], "title": {"text": "t"}}}
    trace = {"uid": "a", "type": "scatter", "x": [1]}
    assert changes(old, {"data": [trace], "layout": {"title": {"text": "u"}}}) == [
        {"do": "add", "trace": trace},
        {"do": "relayout", "values": {"title.text": "u", "shapes": None}},
    ]
