"""`Control`: pause, resume and stop a run from any thread."""

import threading
from collections.abc import Callable

from autosync_lab.study.measures import Measures


class Stopped(Exception):
    """The run was asked to stop: no error, but how it unwinds."""


class Control:
    """Between the thread that runs a study and those that steer it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pausing = False
        self._stopping = False
        self._waiting = False
        self._runner: Measures | None = None

    @property
    def stopping(self) -> bool:
        """True once `stop` was called."""
        return self._stopping

    @property
    def waiting(self) -> bool:
        """True while the run is paused between two trials."""
        return self._waiting

    def measures_with(self, runner: Measures) -> None:
        """What `stop` cancels."""
        with self._changed:
            self._runner = runner

    def pause(self) -> None:
        """Let the running trial end, and start no other one."""
        with self._changed:
            self._pausing = True

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._pausing = False
            self._changed.notify_all()

    def stop(self) -> None:
        """End the run; the running trial is cancelled."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            runner = self._runner
        if runner is not None:
            runner.cancel()

    def cancel_if_stopping(self) -> None:
        """For a running trial to call: the runner may have started it just after `stop` had cancelled nothing."""
        if self._stopping and self._runner is not None:
            self._runner.cancel()

    def checkpoint(self, on_paused: Callable[[], None], on_resumed: Callable[[], None]) -> None:
        """Between two trials: wait while the run is paused.

        Raises
        ------
        Stopped
            If the run is to end.
        """
        if self._pausing and not self._stopping:
            self._waiting = True
            try:
                on_paused()
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping or not self._pausing)
            finally:
                self._waiting = False
            if not self._stopping:
                on_resumed()
        if self._stopping:
            raise Stopped
