"""A figure that has nothing to show yet, and says what will be here."""

from typing import Any

EMPTY_HEIGHT_PX = 160


def empty_figure(sentence: str, height_px: int = EMPTY_HEIGHT_PX) -> dict[str, Any]:
    """A plotly figure of one sentence, as plain data."""
    hidden = {"visible": False, "fixedrange": True}
    return {
        "data": [],
        "layout": {
            "height": height_px,
            "margin": {"l": 8, "r": 24, "t": 24, "b": 24},
            "xaxis": hidden,
            "yaxis": hidden,
            "modebar": {"remove": ["sendChartToCloud", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "toImage"]},
            "annotations": [
                {
                    "text": sentence,
                    "xref": "paper",
                    "yref": "paper",
                    "x": 0.5,
                    "y": 0.5,
                    "showarrow": False,
                    "font": {"size": 14},
                }
            ],
        },
    }


def figure_title(text: str) -> dict[str, Any]:
    """A figure's title, above its left end."""
    return {
        "text": text,
        "font": {"size": 15},
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": 1,
        "yanchor": "top",
        "pad": {"t": 12},
    }
