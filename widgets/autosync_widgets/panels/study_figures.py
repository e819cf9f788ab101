"""Figures that follow a study, each usable alone."""

from pathlib import Path

from autosync_lab.study.study import Study
from autosync_widgets.figures.predicted_vs_measured import draw_predictions, predictions
from autosync_widgets.figures.search_progress import draw_search_progress, search_progress
from autosync_widgets.live_figure import LiveFigure
from autosync_widgets.panels.study_view import PREDICTIONS_DESCRIPTION, PROGRESS_DESCRIPTION
from autosync_widgets.study_follower import StudyFollower, opened_study
from autosync_widgets.study_state import StudyState


class _StudyFigure(LiveFigure):
    def __init__(self, study: Study | str | Path, name: str | None, description: str) -> None:
        self._follower: StudyFollower | None = None
        self._study, self._is_own = opened_study(study, name)
        super().__init__(self._draw(StudyState(self._study.name)), description)
        self._follower = StudyFollower(self._study, lambda state: self.show(self._draw(state)))
        self._follower.look()
        self._follower.start()

    def _draw(self, state: StudyState) -> dict[str, object]:
        raise NotImplementedError

    def close(self) -> None:
        """Follow no more, and take the figure off the page."""
        if self._follower is not None:
            self._follower.close()
            if self._is_own:
                self._study.close()
        super().close()


class SearchProgress(_StudyFigure):
    """Step times of a study's trials and the best so far, against every baseline and the bandwidth bound; live.

    Parameters
    ----------
    study : Study, or str or path
        A study, which may be running anywhere, or the store that has it.
    name : str, optional
        The study's name in the store; may be left out if there is one.

    Raises
    ------
    InvalidInput
        If there is no such store or study.
    """

    def __init__(self, study: Study | str | Path, name: str | None = None) -> None:
        super().__init__(study, name, PROGRESS_DESCRIPTION)

    def _draw(self, state: StudyState) -> dict[str, object]:
        return draw_search_progress(search_progress(state))


class PredictedVsMeasured(_StudyFigure):
    """Predicted against measured step times, both orders, and ranking accuracy over the search; live.

    Parameters
    ----------
    study : Study, or str or path
        A study, which may be running anywhere, or the store that has it.
    name : str, optional
        The study's name in the store; may be left out if there is one.

    Raises
    ------
    InvalidInput
        If there is no such store or study.
    """

    def __init__(self, study: Study | str | Path, name: str | None = None) -> None:
        super().__init__(study, name, PREDICTIONS_DESCRIPTION)

    def _draw(self, state: StudyState) -> dict[str, object]:
        return draw_predictions(predictions(state))
