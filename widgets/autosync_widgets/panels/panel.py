"""What all panels have in common: a root in their style, and their small parts."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import ipywidgets

_STYLE = Path(__file__).parent / "panel.css"


class Panel(ipywidgets.VBox):
    """Widgets from top to bottom, in the style that all panels share."""

    def __init__(self, children: Sequence[ipywidgets.Widget]) -> None:
        style = ipywidgets.HTML(f"<style>{_STYLE.read_text()}</style>", layout={"display": "none"})
        super().__init__([style, *children])
        self.add_class("autosync-lab-panel")


def text(css_class: str, html: str = "") -> ipywidgets.HTML:
    """Text of a panel, as HTML."""
    widget = ipywidgets.HTML(html)
    widget.add_class(css_class)
    return widget


def row(*children: ipywidgets.Widget, css_class: str = "autosync-row") -> ipywidgets.Box:
    """Widgets from left to right; they wrap where there is no room."""
    box = ipywidgets.Box(children)
    box.add_class(css_class)
    return box


def button(label: str, tooltip: str) -> ipywidgets.Button:
    """A button as wide as its label."""
    return ipywidgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})


def dropdown(label: str, options: Sequence[str], value: str | None, tooltip: str) -> ipywidgets.Dropdown:
    """A choice of one of several names."""
    return ipywidgets.Dropdown(
        description=label,
        options=options,
        value=value,
        tooltip=tooltip,
        style={"description_width": "initial"},
        layout={"width": "auto"},
    )


def heading(words: str) -> str:
    """A panel's heading."""
    return f"<h3>{escape(words)}</h3>"


def status(words: str) -> str:
    """A sentence that screen readers say when it changes."""
    return f'<span role="status">{escape(words)}</span>'


def notice(words: str) -> str:
    """Something the user must know; nothing if there are no words."""
    return f'<div class="autosync-panel-notice" role="alert">{escape(words)}</div>' if words else ""
