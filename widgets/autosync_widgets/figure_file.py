"""Figures as files of their own."""

import re
from collections.abc import Sequence
from html import escape

from autosync_widgets.download_button import TextFile
from autosync_widgets.figures.changes import Spec


def figure_file(name: str, title: str, specs: Sequence[Spec]) -> TextFile:
    """An HTML page with figures, which needs no network.

    Parameters
    ----------
    name : str
        The file's name, without its ending.
    title : str
        The page's title and heading.
    specs : sequence of dict
        Figures as plain data, from top to bottom.
    """
    import plotly.graph_objects as go

    parts = []
    for index, spec in enumerate(specs):
        figure = go.Figure(spec).update_layout(template="plotly_white")
        parts.append(figure.to_html(full_html=False, include_plotlyjs=index == 0))
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        f'<body style="font-family: sans-serif"><h1>{escape(title)}</h1>{"".join(parts)}</body></html>\n'
    )
    return TextFile(f"{file_name(name)}.html", page, "text/html")


def file_name(text: str) -> str:
    """Text as a name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "autosync-lab"
