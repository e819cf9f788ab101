"""Figures as files on the kernel's machine."""

from importlib.util import find_spec
from pathlib import Path

from autosync_lab.errors import AutoSyncLabError, InvalidInput, MissingExtra
from autosync_widgets.figures.changes import Spec

ENDINGS = (".html", ".png", ".svg")


def save_figure(spec: Spec, path: str | Path) -> None:
    """Write a figure to a file, in the format that its ending names; see `LiveFigure.save`."""
    import plotly.graph_objects as go

    path = Path(path)
    if path.suffix not in ENDINGS:
        raise InvalidInput("a figure's file has one of these endings", received=path.suffix or path.name, valid=ENDINGS)
    if not path.absolute().parent.is_dir():
        raise InvalidInput("the folder of a figure must exist", received=str(path))
    if path.suffix != ".html" and find_spec("kaleido") is None:
        raise MissingExtra("kaleido", "figures")
    figure = go.Figure(spec).update_layout(template="plotly_white")
    try:
        if path.suffix == ".html":
            figure.write_html(path)
            return
        figure.write_image(path)
    except OSError as error:
        raise AutoSyncLabError(f"{path}: {error}") from error
    except Exception as error:
        # Kaleido's own errors share no root: no browser, or one that does not start.
        raise AutoSyncLabError(f"{path.suffix} needs kaleido and Chromium: {str(error).splitlines()[0]}") from error
