"""`LiveFigure`: a plotly figure in a notebook that grows by small messages."""

import threading
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from autosync_widgets.figures.changes import Spec, changes
from autosync_widgets.plotly_bundle import plotly_bundle
from autosync_widgets.saved_figure import save_figure

_HERE = Path(__file__).parent


class LiveFigure(anywidget.AnyWidget):
    """A plotly figure that is told what to show, and sends what changed.

    The page holds the drawn figure. `show` sends only the difference to what was shown before: about a kilobyte when
    points were added, however many there are. A page that has just been loaded says hello and gets the whole figure; so
    does a second view, and one that missed a message. Plotly's JavaScript is sent once per page, however many figures
    are on it. A drawing of the figure is kept with the widget's state and is shown where there is no kernel.

    Parameters
    ----------
    spec : dict
        The first figure, as plain data: `data` (traces, each with a `uid`) and `layout`.
    description : str
        What the figure shows, for those who cannot see it.
    """

    _esm = _HERE / "live_figure.js"
    _css = _HERE / "live_figure.css"
    description = traitlets.Unicode().tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)

    def __init__(self, spec: Spec, description: str) -> None:
        super().__init__(description=description)
        self._spec = spec
        self._number = 0
        self._lock = threading.Lock()
        self.on_msg(self._answer)

    @property
    def spec(self) -> Spec:
        """What is shown now."""
        return self._spec

    def show(self, spec: Spec) -> None:
        """Show another figure; callable from any thread.

        Parameters
        ----------
        spec : dict
            Not to be changed afterwards.
        """
        with self._lock:
            steps = changes(self._spec, spec)
            if steps == []:
                return
            self._spec = spec
            self._number += 1
            if steps is None:
                self.send({"say": "figure", "number": self._number, "figure": spec})
            else:
                self.send({"say": "changes", "number": self._number, "changes": steps})

    def save(self, path: str | Path) -> None:
        """Write what is shown now to a file.

        Parameters
        ----------
        path : path-like
            Its ending says how: .html (a page that needs no network), .png or .svg (which need kaleido and Chromium;
            the buttons above the figure need neither).

        Raises
        ------
        InvalidInput
            If the ending is another one, or the folder does not exist.
        MissingExtra
            If kaleido is not installed.
        AutoSyncLabError
            If the system refuses.
        """
        save_figure(self._spec, path)

    def _answer(self, _: Any, content: dict[str, Any], _buffers: Any) -> None:
        match content.get("say"):
            case "hello":
                with self._lock:
                    self.send(
                        {
                            "say": "figure",
                            "view": content.get("view"),
                            "number": self._number,
                            "figure": self._spec,
                        }
                    )
            case "need plotly":
                self.send({"say": "plotly"}, buffers=[plotly_bundle()])
