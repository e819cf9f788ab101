"""`SearchThread`: runs searches in a thread of its own, so that the kernel stays free."""

import atexit
import threading
import traceback
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, ClusterUnavailable, InvalidInput
from autosync_lab.runtime.runner import Progress
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator import VirtualRunner
from autosync_lab.study.event import StudyEvent
from autosync_lab.study.measures import Measures
from autosync_lab.study.study import Study
from autosync_widgets.search_request import SearchRequest
from autosync_widgets.study_state import CLUSTER_STAGE

OpenRunner = Callable[[ClusterSpec], Measures]


class SearchThread:
    """Runs one search at a time in a daemon thread; its study can be watched meanwhile.

    Parameters
    ----------
    store : Path or None
        Where studies are kept; None keeps each in memory.
    steps, warmup : int
        Timed steps of each trial, and steps before them.
    open_cluster : callable
        Starts a cluster on which trials are measured.
    on_study : callable
        Gets the study that is about to run, in the search's thread.
    on_end : callable
        Gets what went wrong and its log, both empty if nothing did, in the search's thread.
    """

    def __init__(
        self,
        store: Path | None,
        steps: int,
        warmup: int,
        open_cluster: OpenRunner,
        on_study: Callable[[Study], None],
        on_end: Callable[[str, str], None],
    ) -> None:
        self._store, self._steps, self._warmup = store, steps, warmup
        self._open_cluster = open_cluster
        self._on_study, self._on_end = on_study, on_end
        self._thread: threading.Thread | None = None
        self._request: SearchRequest | None = None
        self._study: Study | None = None
        self._busy = False
        self._stopped = False
        self._paused = False
        self._closed = False
        self._progress: Progress | None = None
        _open_threads.add(self)

    @property
    def busy(self) -> bool:
        """True while a search runs."""
        return self._busy

    @property
    def study(self) -> Study | None:
        """The newest study."""
        return self._study

    @property
    def progress(self) -> Progress | None:
        """How far the trial that runs is."""
        return self._progress

    def start(self, request: SearchRequest) -> None:
        """Begin a search, or go on with the newest one if it is the same.

        Raises
        ------
        InvalidInput
            If a search is running.
        """
        if self._closed:
            raise InvalidInput("this panel is closed; make a new one")
        if self.busy:
            raise InvalidInput("A search is running: wait for it, or stop it first.")
        self._busy, self._stopped, self._paused = True, False, False
        self._thread = threading.Thread(target=self._work, args=(request,), daemon=True, name="autosync-search")
        self._thread.start()

    def pause(self) -> None:
        """Let the running trial end, and start no other one."""
        self._paused = True
        self._steer(Study.pause)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._paused = False
        self._steer(Study.resume)

    def stop(self) -> None:
        """End the search, and its running trial."""
        self._stopped = True
        self._steer(Study.stop)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the search has ended; False if that takes longer than `timeout_s` seconds."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return not self.busy

    def close(self) -> None:
        """End the search and let go of its study; may be called twice."""
        self._closed = True
        self.stop()
        if not self.busy:
            self._let_go()

    def _steer(self, order: Callable[[Study], None]) -> None:
        study = self._study
        if study is not None:
            order(study)

    def _work(self, request: SearchRequest) -> None:
        error = log = ""
        try:
            study = self._watched_study(request)
            runner = _LateRunner(lambda: self._runner(request), self._tell)
            try:
                study.run(
                    request.n_trials,
                    algorithm=request.algorithm,
                    simulator=request.simulator,
                    runner=runner,
                    on_event=lambda event: self._happened(study, event),
                    on_progress=self._tell,
                )
            finally:
                runner.close()
        except ClusterUnavailable as unavailable:
            error, log = str(unavailable).splitlines()[0], unavailable.stderr_tail
        except AutoSyncLabError as refused:
            error = str(refused)
        except Exception as unforeseen:
            error, log = f"{type(unforeseen).__name__}: {unforeseen}", traceback.format_exc()
        finally:
            self._progress = None
            self._busy = False
            if self._closed:
                self._let_go()
        self._on_end(error, log)

    def _watched_study(self, request: SearchRequest) -> Study:
        before = self._study
        if before is not None and self._request is not None and request.goes_on(self._request):
            return before
        study = Study(
            request.model,
            request.cluster,
            self._store,
            name=request.name,
            space=request.space,
            lossy=request.lossy if request.space is None else False,
            steps=self._steps,
            warmup=self._warmup,
        )
        self._study, self._request = study, request
        self._on_study(study)
        # Only now, as nobody looks at it any more.
        _release(before)
        return study

    def _runner(self, request: SearchRequest) -> Measures:
        if request.backend == "simulate":
            return VirtualRunner(request.cluster, request.calibration)
        return self._open_cluster(request.cluster)

    def _happened(self, study: Study, event: StudyEvent) -> None:
        if event.kind in ("trial-started", "trial-ended"):
            self._progress = None
        if event.kind == "study-started":
            # Orders that came before there was a run to steer.
            if self._stopped:
                study.stop()
            elif self._paused:
                study.pause()

    def _tell(self, progress: Progress) -> None:
        self._progress = progress

    def _let_go(self) -> None:
        study, self._study = self._study, None
        _release(study)


def _release(study: Study | None) -> None:
    if study is not None:
        with suppress(AutoSyncLabError):
            study.close()


class _LateRunner:
    """Opens a runner when the first trial needs it: then the study already says that it runs."""

    def __init__(self, open_runner: Callable[[], Measures], tell: Callable[[Progress], None]) -> None:
        self._open_runner = open_runner
        self._tell = tell
        self._runner: Measures | None = None

    def measure(self, *arguments: Any, **settings: Any) -> Trial:
        """As `Runner.measure`."""
        if self._runner is None:
            self._tell(Progress(CLUSTER_STAGE, 0, settings["steps"]))
            self._runner = self._open_runner()
        return self._runner.measure(*arguments, **settings)

    def cancel(self) -> None:
        """Stop the running trial."""
        if self._runner is not None:
            self._runner.cancel()

    def close(self) -> None:
        """End everything that was started."""
        if self._runner is not None:
            self._runner.close()


_open_threads: "weakref.WeakSet[SearchThread]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for thread in list(_open_threads):
        thread.close()
