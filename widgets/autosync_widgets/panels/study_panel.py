"""`StudyPanel`: watches a study, also one that another kernel or a terminal runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from autosync_lab.study.study import Study
from autosync_widgets.figures.predicted_vs_measured import predicted_vs_measured_figure
from autosync_widgets.figures.search_progress import search_progress_figure
from autosync_widgets.panels.panel import Panel, heading, text
from autosync_widgets.panels.study_view import StudyView
from autosync_widgets.study_follower import StudyFollower, opened_study
from autosync_widgets.study_state import StudyState

if TYPE_CHECKING:
    import plotly.graph_objects as go


class StudyPanel(Panel):
    """Progress, figures, tables and failures of a study, twice a second.

    Parameters
    ----------
    study : Study, or str or path
        A study, or the store that has it.
    name : str, optional
        The study's name in the store; may be left out if there is one.

    Raises
    ------
    InvalidInput
        If there is no such store or study.
    StoreUnavailable
        If the system refuses.

    Examples
    --------
    >>> StudyPanel("trials.db")  # doctest: +SKIP
    """

    def __init__(self, study: Study | str | Path, name: str | None = None) -> None:
        self._follower: StudyFollower | None = None
        self._study, self._is_own = opened_study(study, name)
        self._view = StudyView(lambda: self._study)
        super().__init__([text("autosync-facts", heading(self._study.name)), self._view.root])
        self._follower = StudyFollower(self._study, self._view.show)
        self._follower.look()
        self._follower.start()

    @property
    def study(self) -> Study:
        """What is watched."""
        return self._study

    @property
    def state(self) -> StudyState:
        """What is shown."""
        return self._view.state

    def progress_figure(self) -> "go.Figure":
        """Step times against baselines and the bound, as a plotly figure that stands alone."""
        return search_progress_figure(self.state)

    def predictions_figure(self) -> "go.Figure":
        """Predicted against measured, as a plotly figure that stands alone."""
        return predicted_vs_measured_figure(self.state)

    def close(self) -> None:
        """Watch no more, and take the widget off the page."""
        if self._follower is not None:
            self._follower.close()
            if self._is_own:
                self._study.close()
        super().close()
