"""Widgets and figures for JupyterLab."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autosync_widgets.explorer import Explorer as Explorer
    from autosync_widgets.figures.step_times import step_time_figure as step_time_figure
    from autosync_widgets.live_figure import LiveFigure as LiveFigure

_HOME = {
    "Explorer": "explorer",
    "LiveFigure": "live_figure",
    "step_time_figure": "figures.step_times",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"autosync_widgets.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'autosync_widgets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
