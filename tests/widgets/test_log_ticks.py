import math

from hypothesis import given
from hypothesis import strategies as st

from autosync_widgets.figures.log_ticks import FEWEST, log_axis, log_ticks, seconds_range


@given(st.floats(1e-6, 1e4), st.floats(1.02, 1e6))
def test_an_axis_always_has_ticks_in_order_and_inside(low: float, ratio: float) -> None:
    ticks = log_ticks(low, low * ratio)
    assert len(ticks) >= FEWEST
    assert ticks == sorted(set(ticks))
    assert all(low * (1 - 1e-5) <= t <= low * ratio * (1 + 1e-5) for t in ticks)


def test_ticks_are_round_numbers() -> None:
    assert log_ticks(0.04, 12.0) == [0.1, 0.3, 1.0, 3.0, 10.0]
    assert log_ticks(0.09, 1.1) == [0.1, 0.2, 0.5, 1.0]
    assert log_ticks(0.3, 0.36) == [0.3, 0.32, 0.34, 0.36]


def test_a_range_has_room_around_what_is_known() -> None:
    low, high = seconds_range([0.2, math.inf, 0.4, 0.0])
    assert 0.19 < low < 0.2
    assert 0.4 < high < 0.42
    assert seconds_range([]) == (0.1, 1.0)
    assert seconds_range([1.0])[0] < 1.0 < seconds_range([1.0])[1]


def test_an_axis_is_written_in_units() -> None:
    axis = log_axis(0.09, 1.1)
    assert axis["ticktext"] == ["100 ms", "200 ms", "500 ms", "1 s"]
    assert axis["range"] == [round(math.log10(0.09), 4), round(math.log10(1.1), 4)]
