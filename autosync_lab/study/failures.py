"""When trial after trial fails."""

from autosync_lab.errors import AutoSyncLabError
from autosync_lab.runtime.trial import Trial

MOST_IN_A_ROW = 5
"""Failed trials in a row after which a study stops: then it is the cluster or the model, not the strategies."""


class TrialsFailing(AutoSyncLabError):
    """A study stopped because trial after trial failed.

    Parameters
    ----------
    count : int
        Failed trials in a row.
    last : Trial
        The newest of them.
    """

    def __init__(self, count: int, last: Trial) -> None:
        self.count = count
        self.last = last
        text = f"{count} trials in a row failed; the last one, {last.label}, in stage {last.stage!r}: {last.error}"
        if last.exit_code is not None:
            text += f" (exit code {last.exit_code})"
        if last.stderr_tail:
            text += f"\n{last.stderr_tail}"
        super().__init__(text)
