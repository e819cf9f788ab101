"""Strategies that a search found, one series per way in which their gradients travel."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from autosync_widgets.colours import Look
from autosync_widgets.search_points import KINDS, SearchPoint

SVG_POINTS = 3000
"""Above this many points, WebGL draws faster than SVG; below, SVG looks better and needs no WebGL context."""


@dataclass(frozen=True)
class FoundSeries:
    """Trials of one kind, in the order in which they were measured."""

    name: str
    look: Look
    points: tuple[SearchPoint, ...]


def found_series(points: Iterable[SearchPoint]) -> tuple[FoundSeries, ...]:
    """One series per kind, then one per kind of lossy ones; empty ones too, so that a series keeps its place."""
    of: dict[tuple[bool, str], list[SearchPoint]] = {(lossy, kind): [] for lossy in (False, True) for kind in KINDS}
    for point in points:
        of[point.lossy, point.kind].append(point)
    return tuple(
        FoundSeries(f"{kind}, lossy", KINDS[kind].hollow(), tuple(own))
        if lossy
        else FoundSeries(kind, KINDS[kind], tuple(own))
        for (lossy, kind), own in of.items()
    )


def draw_series(
    series: FoundSeries, x: Callable[[SearchPoint], float], y: Callable[[SearchPoint], float], webgl: bool
) -> dict[str, Any]:
    """A trace of markers, as plain data."""
    return {
        "type": "scattergl" if webgl else "scatter",
        "uid": f"found-{series.name}",
        "name": series.name,
        "legendgroup": series.name,
        "mode": "markers",
        "showlegend": bool(series.points),
        "x": [x(p) for p in series.points],
        "y": [y(p) for p in series.points],
        "customdata": [p.caption for p in series.points],
        "marker": {
            "color": series.look.colour,
            "symbol": series.look.symbol,
            "size": 8,
            "opacity": 0.8,
            "line": {"width": 2 if series.look.symbol.endswith("-open") else 0},
        },
        "hovertemplate": "%{customdata}<extra></extra>",
    }
