"""How long silence of all processes is waited for."""

FIRST_STEP_PATIENCE_S = 120.0
"""Seconds in which something must happen before the first step has shown how long a step takes."""

STEP_PATIENCE_S = 30.0
"""Least seconds in which something must happen between steps."""

STEP_PATIENCE_FACTOR = 10.0
"""A step may take this many times the slowest one so far."""


class Patience:
    """Grows with the slowest step so far.

    Parameters
    ----------
    least_s : float
        What the links alone need for a step, seconds.
    timeout_s : float, optional
        Always this, if given.
    """

    def __init__(self, least_s: float, timeout_s: float | None = None) -> None:
        self._least_s = least_s
        self._timeout_s = timeout_s
        self._slowest_s = 0.0

    def learn(self, step_s: float) -> None:
        """A step took so many seconds."""
        self._slowest_s = max(self._slowest_s, step_s)

    @property
    def seconds(self) -> float:
        """Seconds in which something must happen now."""
        if self._timeout_s is not None:
            return self._timeout_s
        if self._slowest_s == 0.0:
            # Its links alone need this long; how far above that it is, only a step can tell.
            return FIRST_STEP_PATIENCE_S + STEP_PATIENCE_FACTOR * self._least_s
        return max(STEP_PATIENCE_S, STEP_PATIENCE_FACTOR * self._slowest_s)
