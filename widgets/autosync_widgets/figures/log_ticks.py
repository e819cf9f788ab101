"""Ticks of a logarithmic axis of seconds, also where it spans less than a decade."""

import math
from collections.abc import Iterable
from typing import Any

from autosync_widgets.wording import seconds_text

FEWEST = 4
_MANTISSAS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
_LINEAR_STEPS = (5.0, 2.0, 1.0)


def seconds_range(seconds: Iterable[float], margin: float = 0.06) -> tuple[float, float]:
    """Least and largest of some times that are above 0, seconds, with a share of the (logarithmic) span around them."""
    known = [s for s in seconds if 0 < s < math.inf]
    if not known:
        return 0.1, 1.0
    low, high = min(known), max(known)
    room = max((high / low) ** margin, 1.02)
    return low / room, high * room


def log_axis(low: float, high: float) -> dict[str, Any]:
    """A plotly axis from `low` to `high` seconds: logarithmic, with ticks in readable units."""
    ticks = log_ticks(low, high)
    return {
        "type": "log",
        "range": [round(math.log10(low), 4), round(math.log10(high), 4)],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [seconds_text(t) for t in ticks],
        "zeroline": False,
        "automargin": True,
    }


def log_ticks(low: float, high: float) -> list[float]:
    """At least `FEWEST` round numbers of seconds between `low` and `high`, fewest that will do."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in _MANTISSAS:
        ticks = [_round(m * 10.0**d) for d in decades for m in mantissas]
        inside = [t for t in ticks if low <= t <= high]
        if len(inside) >= FEWEST:
            return inside
    unit = 10.0 ** math.floor(math.log10(high - low))
    while True:
        for step in (s * unit for s in _LINEAR_STEPS):
            first, last = math.ceil(low / step), math.floor(high / step)
            if last - first + 1 >= FEWEST:
                return [_round(i * step) for i in range(first, last + 1)]
        unit /= 10.0


def _round(seconds: float) -> float:
    return float(f"{seconds:.6g}")
