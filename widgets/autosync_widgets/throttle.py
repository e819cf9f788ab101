"""`Throttle`: however often something is asked for, it is done at most once per period."""

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Throttle:
    """Does `action` soon after it was asked for, and at most once per `period_s` seconds, in a daemon thread.

    What was asked for while `action` rests is done once, at the end of the rest, so the last request is never lost.

    Parameters
    ----------
    action : callable
    period_s : float
    rest : callable, optional
        Sleeps between two actions: (seconds) -> None. Tests pass their own.
    """

    def __init__(
        self, action: Callable[[], None], period_s: float, rest: Callable[[float], object] | None = None
    ) -> None:
        self._action = action
        self._period_s = period_s
        self._asked = threading.Event()
        self._ended = threading.Event()
        self._rest = rest if rest is not None else self._ended.wait
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Ask for the action; callable from any thread."""
        self._asked.set()
        with self._start:
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._work, daemon=True, name="autosync-redraw")
                self._thread.start()

    def close(self) -> None:
        """Do nothing more; may be called twice."""
        self._ended.set()
        self._asked.set()

    def _work(self) -> None:
        while True:
            self._asked.wait()
            if self._ended.is_set():
                return
            self._asked.clear()
            try:
                self._action()
            except Exception:
                # One drawing that fails must not end all later ones.
                _log.exception("drawing failed")
            self._rest(self._period_s)
