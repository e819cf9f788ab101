"""Quantities in words."""

import math


def seconds_text(seconds: float) -> str:
    """Seconds with three digits and a fitting unit; a dash if unknown."""
    if math.isnan(seconds):
        return "—"
    if math.isinf(seconds):
        return "∞"
    if seconds >= 1:
        return f"{_digits(seconds)} s"
    if seconds >= 1e-3:
        return f"{_digits(seconds * 1e3)} ms"
    return f"{_digits(seconds * 1e6)} µs"


def duration_text(seconds: float) -> str:
    """A waiting time, rounded to what one cares about."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def bytes_text(nbytes: float) -> str:
    """Bytes in decimal units, as link speeds are."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= size:
            return f"{_digits(nbytes / size)} {unit}"
    return f"{nbytes:.0f} bytes"


def count_text(count: int) -> str:
    """A count in millions or thousands where it is large."""
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{_digits(count / size)} {unit}"
    return f"{count:,}"


def gbps_text(gbps: float) -> str:
    """A link speed."""
    if math.isinf(gbps):
        return "unlimited"
    return f"{_digits(gbps)} Gbit/s" if gbps >= 1 else f"{_digits(gbps * 1e3)} Mbit/s"


def plural(count: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
