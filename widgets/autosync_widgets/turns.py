"""`TakesTurns`: of all trials that this kernel starts, one runs at a time, because each disturbs the others' times."""

import threading
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.runtime.trial import Trial

_turn = threading.Lock()


class TakesTurns:
    """A runner whose trials wait for those of other runners of this kernel.

    Parameters
    ----------
    runner : Runner
        What `autosync_lab.open_cluster` returns.
    """

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    @property
    def worker_pids(self) -> dict[int, int]:
        """Pid of each process of the pool."""
        return dict(self._runner.worker_pids)

    def measure(self, *arguments: Any, **settings: Any) -> Trial:
        """As `Runner.measure`, once no other trial runs."""
        with _turn:
            trial: Trial = self._runner.measure(*arguments, **settings)
        return trial

    def cancel(self) -> None:
        """Stop the running trial."""
        self._runner.cancel()

    def close(self) -> None:
        """End everything that was started."""
        self._runner.close()


def open_in_turns(cluster: ClusterSpec) -> TakesTurns:
    """Start a cluster whose trials take turns with those of others.

    Raises
    ------
    ClusterUnavailable
        If it cannot be started.
    InvalidInput
        If it can only be simulated.
    """
    from autosync_lab.runtime import open_cluster

    if cluster.launcher == "virtual":
        raise InvalidInput("this cluster can only be simulated, and this measures", received=cluster.name)
    return TakesTurns(open_cluster(cluster))
