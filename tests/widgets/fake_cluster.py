"""A cluster that runs nothing: trials take the course that a test chose for their label."""

import itertools
import threading
from collections.abc import Callable
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import ClusterUnavailable, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy
from tests.widgets.requests import record, request

_numbers = itertools.count()


class Step:
    """What a runner reports while it measures."""

    def __init__(self, stage: str, step_time_s: float | None = None) -> None:
        self.stage = stage
        self.step_time_s = step_time_s


class FakeCluster:
    """What a test scripts, and what it learns.

    `courses` says what a trial does by its label: "ok" (the default), "fail", "hang" (until it is cancelled), "refuse",
    "lose" (the cluster is gone) or "bug". `reached` is released each time a trial hangs.
    """

    def __init__(self) -> None:
        self.courses: dict[str, str] = {}
        self.unavailable: Exception | None = None
        self.runners: list[FakeRunner] = []
        self.reached = threading.Semaphore(0)

    def open(self, cluster: ClusterSpec) -> "FakeRunner":
        if self.unavailable is not None:
            raise self.unavailable
        self.runners.append(FakeRunner(self, cluster))
        return self.runners[-1]


class FakeRunner:
    """The part of `Runner` that an Explorer uses."""

    def __init__(self, script: FakeCluster, cluster: ClusterSpec) -> None:
        self.script = script
        self.cluster = cluster
        self.closed = False
        self.measured: list[str] = []
        self.threads: set[str] = set()
        self._cancelled = threading.Event()

    @property
    def worker_pids(self) -> dict[int, int]:
        return {0: 101, 1: 102}

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int,
        label: str,
        on_progress: Callable[[Any], None],
    ) -> Trial:
        self.measured.append(label)
        self.threads.add(threading.current_thread().name)
        self._cancelled.clear()
        asked = request(next(_numbers), label, strategy, steps, cluster=self.cluster)
        course = self.script.courses.get(label, "ok")
        changes: dict[str, Any] = {"model": model.name}
        if course == "refuse":
            raise InvalidInput("this model cannot be run", received=model.name)
        if course == "lose":
            raise ClusterUnavailable("the pool is gone", stage="start", stderr_tail="killed")
        if course == "bug":
            raise RuntimeError("nobody foresaw this")
        on_progress(Step("build"))
        if course == "fail":
            return record(asked, status="failed", stage="build", error="exited", stderr_tail="boom", **changes)
        on_progress(Step("steps", 0.25))
        if course == "hang":
            self.script.reached.release()
            self._cancelled.wait(timeout=30)
        if self._cancelled.is_set():
            return record(asked, 0.25, status="stopped", stage="steps", error="stopped on request", **changes)
        for _ in range(steps - 1):
            on_progress(Step("steps", 0.25))
        return record(asked, *[0.25] * steps, **changes)

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        self.closed = True
        self._cancelled.set()
