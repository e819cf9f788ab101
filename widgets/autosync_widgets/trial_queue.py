"""`TrialQueue`: runs trials one after the other in a thread of its own, on a warm pool."""

import atexit
import queue
import threading
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, ClusterUnavailable, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.explorer_state import (
    ClusterClosed,
    ClusterLost,
    ClusterStarting,
    ClusterUp,
    Event,
    QueueDropped,
    TrialEnded,
    TrialProgressed,
    TrialRefused,
    TrialStarted,
)
from autosync_widgets.trial_request import TrialRequest


class RunnerLike(Protocol):
    """What the queue needs of `autosync_lab.runtime.Runner`."""

    @property
    def worker_pids(self) -> dict[int, int]:
        """Pid of each process of the pool."""

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int,
        label: str,
        on_progress: Callable[[Any], None],
    ) -> Trial:
        """Measure one strategy; a failing worker gives a failed trial."""

    def cancel(self) -> None:
        """End the running trial; callable from any thread."""

    def close(self) -> None:
        """End everything that was started; may be called twice, from any thread."""


OpenCluster = Callable[[ClusterSpec], RunnerLike]


class TrialQueue:
    """Runs trials one after the other in a daemon thread, which starts with the first of them.

    The pool stays warm between launches on the same cluster; a launch on another cluster closes it first.

    Parameters
    ----------
    open_cluster : callable
        Starts a cluster: (ClusterSpec) -> runner.
    on_event : callable
        Told everything that happens, in the queue's thread.
    """

    def __init__(self, open_cluster: OpenCluster, on_event: Callable[[Event], None]) -> None:
        self._open_cluster = open_cluster
        self._on_event = on_event
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._runner: RunnerLike | None = None
        self._runner_hash = ""
        self._stopped = threading.Event()
        self._closed = False
        self._pending = 0
        self._idle = threading.Condition()
        _open_queues.add(self)

    @property
    def worker_pids(self) -> dict[int, int]:
        """Pid of each process of the warm pool; empty if none is up."""
        runner = self._runner
        return dict(runner.worker_pids) if runner is not None else {}

    def submit(self, requests: Sequence[TrialRequest]) -> None:
        """Run these trials, all on one cluster, after those that were submitted before."""
        # Each launch has a stop signal of its own, so a late stop cannot end the next launch.
        stopped = self._stopped = threading.Event()
        self._order(lambda: self._measure_all(requests, stopped))

    def stop(self) -> None:
        """End the running trial and drop those of its launch that wait; the pool stays."""
        self._stopped.set()
        runner = self._runner
        if runner is not None:
            runner.cancel()

    def close_cluster(self) -> None:
        """End the pool's processes as soon as the running launch has ended."""
        self._order(self._close_runner)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until everything submitted has ended; False if that takes longer than `timeout_s` seconds."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._pending, timeout_s)

    def close(self) -> None:
        """End everything; may be called twice, from any thread."""
        self._closed = True
        self._stopped.set()
        runner = self._runner
        if runner is not None:
            runner.close()
        if self._thread is not None:
            self._orders.put(None)

    def _order(self, order: Callable[[], None]) -> None:
        if self._closed:
            raise InvalidInput("this Explorer is closed; make a new one")
        with self._idle:
            self._pending += 1
        if self._thread is None:
            # A daemon, so that the end of the kernel does not wait for a trial.
            self._thread = threading.Thread(target=self._work, daemon=True, name="autosync-trials")
            self._thread.start()
        self._orders.put(order)

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                order()
            finally:
                with self._idle:
                    self._pending -= 1
                    self._idle.notify_all()
        self._close_runner()

    def _measure_all(self, requests: Sequence[TrialRequest], stopped: threading.Event) -> None:
        runner = self._runner_for(requests[0].cluster)
        if runner is None:
            return
        for request in requests:
            if stopped.is_set():
                break
            if not self._measure(runner, request, stopped):
                return
        if stopped.is_set():
            self._on_event(QueueDropped())

    def _measure(self, runner: RunnerLike, request: TrialRequest, stopped: threading.Event) -> bool:
        """Run one trial; False if its cluster is gone."""

        def on_progress(progress: Any) -> None:
            self._on_event(TrialProgressed(request.key, progress.stage, progress.step_time_s))
            if stopped.is_set():
                # A stop that came between two trials found nothing to cancel.
                runner.cancel()

        self._on_event(TrialStarted(request.key))
        try:
            trial = runner.measure(
                request.model,
                request.strategy,
                steps=request.steps,
                label=request.label,
                on_progress=on_progress,
            )
        except ClusterUnavailable as error:
            self._close_runner()
            self._on_event(_lost(request.cluster, error))
            return False
        except AutoSyncLabError as error:
            self._on_event(TrialRefused(request.key, str(error)))
        except Exception as error:
            self._on_event(TrialRefused(request.key, _named(error), traceback.format_exc()))
        else:
            self._on_event(TrialEnded(request.key, trial))
        return True

    def _runner_for(self, cluster: ClusterSpec) -> RunnerLike | None:
        if self._runner is not None and self._runner_hash == cluster.hash:
            return self._runner
        self._close_runner()
        self._on_event(ClusterStarting(cluster.name))
        try:
            runner = self._open_cluster(cluster)
        except ClusterUnavailable as error:
            self._on_event(_lost(cluster, error))
            return None
        except AutoSyncLabError as error:
            self._on_event(ClusterLost(cluster.name, str(error), "start"))
            return None
        except Exception as error:
            self._on_event(ClusterLost(cluster.name, _named(error), "start", traceback.format_exc()))
            return None
        self._runner, self._runner_hash = runner, cluster.hash
        if self._closed:
            self._close_runner()
            return None
        self._on_event(ClusterUp(cluster.name))
        return runner

    def _close_runner(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()
            self._on_event(ClusterClosed())


def _lost(cluster: ClusterSpec, error: ClusterUnavailable) -> ClusterLost:
    message = str(error).splitlines()[0].removesuffix(f" (stage: {error.stage})")
    return ClusterLost(cluster.name, message, error.stage, error.stderr_tail)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


_open_queues: "weakref.WeakSet[TrialQueue]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for trial_queue in list(_open_queues):
        trial_queue.close()
