"""`StudyFollower`: looks at a study again and again, and says what changed."""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.runtime.runner import Progress
from autosync_lab.study.study import Study
from autosync_widgets.study_state import StudyState, advance

LOOK_PERIOD_S = 0.5
"""Seconds between two looks: twice a second looks live, and an idle look costs two small queries."""

_log = logging.getLogger(__name__)


class StudyFollower:
    """Follows a study, whichever thread or process runs it.

    Parameters
    ----------
    study : Study
    show : callable
        Gets the `StudyState`, first at once and then after every change, at most once in `LOOK_PERIOD_S`.
    progress : callable, optional
        How far the trial that runs is, where that is known.
    """

    def __init__(
        self,
        study: Study,
        show: Callable[[StudyState], None],
        progress: Callable[[], Progress | None] = lambda: None,
    ) -> None:
        self._study = study
        self._show = show
        self._progress = progress
        self._shown_progress: Progress | None = None
        self._state = StudyState(study.name, study.model.name, study.cluster.name)
        self._look = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        show(self._state)

    @property
    def state(self) -> StudyState:
        """What was seen last."""
        return self._state

    def look(self) -> None:
        """Look now, and show what is new."""
        with self._look:
            state = self._state
            try:
                phase = self._study.state
                events = self._study.events(state.since)
                records = self._study.records
                progress = self._progress()
            except AutoSyncLabError as error:
                if not self._ended.is_set() and state.trouble != str(error):
                    self._state = replace(state, trouble=str(error))
                    self._show(self._state)
                return
            changed = len(records) != len(state.records) or phase != state.phase or progress != self._shown_progress
            if events or changed or state.trouble:
                self._state = advance(state, events, records, phase, progress)
                self._shown_progress = progress
                self._show(self._state)

    def start(self) -> None:
        """Look twice a second from now on, in a daemon thread."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="autosync-follower")
        self._thread.start()

    def close(self) -> None:
        """Look no more; may be called twice."""
        self._ended.set()

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                self.look()
            except Exception:
                # One drawing that fails must not end all later ones.
                _log.exception("drawing a study failed")
            self._ended.wait(LOOK_PERIOD_S)


def opened_study(study: Study | str | Path, name: str | None = None) -> tuple[Study, bool]:
    """A study, and whether it was opened here: then who asked closes it.

    Raises
    ------
    InvalidInput
        If it is neither a study nor a store that has one of this name.
    """
    if isinstance(study, Study):
        return study, False
    if isinstance(study, str | Path):
        return Study.open(study, name), True
    raise InvalidInput("a study is a Study, or the path of a store", where="study", received=study)
