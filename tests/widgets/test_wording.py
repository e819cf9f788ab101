import math

import pytest

from autosync_widgets.wording import bytes_text, count_text, duration_text, gbps_text, plural, seconds_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12.345, "12.3 s"),
        (0.01234, "12.3 ms"),
        (123e-6, "123 µs"),
        (1234.5, "1,234 s"),
        (math.nan, "—"),
        (math.inf, "∞"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1, "1 s"), (59.4, "59 s"), (61, "1 min 1 s"), (120, "2 min"), (1000, "16 min"), (7300, "2 h 1 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_other_quantities() -> None:
    assert [bytes_text(b) for b in (12, 4_000, 5.5e6, 1.34e9)] == ["12 bytes", "4 kB", "5.5 MB", "1.34 GB"]
    assert [count_text(c) for c in (12, 4_000, 138_357_544, 2_000_000_000)] == [
        "12",
        "4,000",
        "138 million",
        "2 billion",
    ]
    assert [gbps_text(g) for g in (0.2, 40, math.inf)] == ["200 Mbit/s", "40 Gbit/s", "unlimited"]
    assert [plural(1, "node"), plural(1200, "node")] == ["1 node", "1,200 nodes"]
