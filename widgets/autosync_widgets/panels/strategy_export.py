"""`StrategyExport`: downloads a strategy in every form that others read."""

from collections.abc import Callable

import ipywidgets

from autosync_widgets.download_button import BytesFile, DownloadButton, TextFile
from autosync_widgets.panels.panel import notice, row, text
from autosync_widgets.strategy_file import ChosenStrategy, autodist_file, horovod_file, json_file

_FORMS: tuple[tuple[str, str, Callable[[ChosenStrategy], TextFile | BytesFile]], ...] = (
    ("Strategy as JSON", "For this package: `autosync-lab measure MODEL CLUSTER --strategy FILE`.", json_file),
    (
        "AutoDist file",
        "AutoDist's protobuf message. What AutoDist cannot say is refused, with the reason.",
        autodist_file,
    ),
    (
        "Horovod module",
        "A Python file for Keras and Horovod, which needs nothing of this package; all-reduced strategies only.",
        horovod_file,
    ),
)


class StrategyExport(ipywidgets.VBox):
    """A button for each form; below them, why a form cannot say the strategy.

    Parameters
    ----------
    label : str
        Which strategy it is, in front of the buttons.
    chosen : callable
        The strategy; asked at every click. What it raises on purpose is shown below the buttons.
    more : sequence of Widget
        Other buttons of the same row.
    """

    def __init__(
        self, label: str, chosen: Callable[[], ChosenStrategy], more: tuple[ipywidgets.Widget, ...] = ()
    ) -> None:
        self._why_not = text("autosync-notices")
        buttons = [
            DownloadButton(name, tooltip, lambda make=make: make(chosen()), self._tell)  # type: ignore[misc]
            for name, tooltip, make in _FORMS
        ]
        super().__init__([row(ipywidgets.Label(label), *buttons, *more), self._why_not])

    def forget(self) -> None:
        """Say no more why not: another strategy was chosen."""
        self._why_not.value = ""

    def _tell(self, why_not: str) -> None:
        self._why_not.value = notice(why_not)
