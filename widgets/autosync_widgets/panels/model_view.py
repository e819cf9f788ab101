"""`ModelView`: a model's variables by size."""

from html import escape
from typing import TYPE_CHECKING

import ipywidgets

from autosync_lab.model.spec import ModelSpec
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.facts import model_facts
from autosync_widgets.figure_file import figure_file
from autosync_widgets.figures.model_sizes import draw_model_sizes, model_sizes, model_sizes_figure
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.given import given_model
from autosync_widgets.panels.panel import Panel, heading, row, text

if TYPE_CHECKING:
    import plotly.graph_objects as go


class ModelView(Panel):
    """A picture of a model: its variables by size, in forward order, sparse ones marked.

    Parameters
    ----------
    model : str or ModelSpec, optional
        A catalog name, a file, or a model of your own.

    Raises
    ------
    InvalidInput
        If there is no such model.

    Examples
    --------
    >>> ModelView("ncf-small")  # doctest: +SKIP
    """

    def __init__(self, model: str | ModelSpec | None = None) -> None:
        self._model = given_model(model)
        self._data = model_sizes(self._model)
        self._figure = LiveFigure(
            draw_model_sizes(self._data), f"Sizes of the variables of {self._model.name}, in forward order."
        )
        self._scale = ipywidgets.ToggleButtons(
            description="Scale",
            options=["linear", "logarithmic"],
            tooltips=["What matters: which variables hold the bytes.", "So that small variables can be seen, too."],
            style={"description_width": "initial", "button_width": "auto"},
        )
        self._scale.observe(self._rescale, "value")
        download = DownloadButton("Figure as HTML", "Download this figure as a page of its own.", self._file)
        super().__init__(
            [
                text("autosync-facts", heading(self._model.name) + "<br>".join(map(escape, model_facts(self._model)))),
                row(self._scale, download),
                self._figure,
            ]
        )

    @property
    def model(self) -> ModelSpec:
        """The model."""
        return self._model

    def figure(self) -> "go.Figure":
        """What is shown, as a plotly figure that stands alone."""
        return model_sizes_figure(self._model, self._logarithmic)

    @property
    def _logarithmic(self) -> bool:
        return bool(self._scale.value == "logarithmic")

    def _rescale(self, _: object) -> None:
        self._figure.show(draw_model_sizes(self._data, self._logarithmic))

    def _file(self) -> TextFile:
        return figure_file(self._model.name, f"Variables of {self._model.name}", [self._figure.spec])
