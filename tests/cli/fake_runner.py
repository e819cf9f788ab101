"""A cluster that measures nothing: it hands out what a test scripted, so that a command's decisions can be tested."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Self

from autosync_lab.cluster import ClusterSpec
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.model import ModelSpec
from autosync_lab.runtime import Event, Profile, Progress, Trial
from autosync_lab.strategy import Strategy
from tests.study.trial_factory import make_trial

Script = Callable[["FakeRunner", Trial], Trial]


class FakeCluster:
    """What a test scripts, and what it learns.

    `seconds` holds the step time per label, `scripts` what happens to a trial per label (default: it succeeds),
    `unavailable` the names of clusters that cannot be started.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.scripts: dict[str, Script] = {}
        self.unavailable: set[str] = set()
        self.order: list[str] = []
        self.calls: list[dict[str, Any]] = []
        self.opened: list[str] = []
        self.closed: list[str] = []

    def open(self, cluster: ClusterSpec) -> "FakeRunner":
        if cluster.name in self.unavailable:
            raise ClusterUnavailable("no namespaces here", stage="start", stderr_tail="Operation not permitted")
        self.opened.append(cluster.name)
        return FakeRunner(self, cluster)

    def peer(self, name: str, model: ModelSpec, cluster: ClusterSpec, *, steps: int, **settings: Any) -> Trial:
        return FakeRunner(self, cluster).trial(model, None, name, steps)


class FakeRunner:
    """The part of `Runner` that commands use."""

    def __init__(self, script: FakeCluster, cluster: ClusterSpec) -> None:
        self.cluster = cluster
        self.script = script

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.script.closed.append(self.cluster.name)

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        label: str,
        steps: int,
        on_progress: Callable[[Progress], None],
        **settings: Any,
    ) -> Trial:
        self.script.calls.append(settings | {"label": label, "steps": steps})
        on_progress(Progress("build", 0, steps))
        on_progress(Progress("steps", 1, steps, 0.1))
        return self.trial(model, strategy, label, steps, traced=settings["trace"])

    def profile(self, model: ModelSpec) -> Profile:
        return Profile(0.5, tuple(0.5 * v.ready for v in model.variables))

    def trial(self, model: ModelSpec, strategy: Strategy | None, label: str, steps: int, traced: bool = False) -> Trial:
        count = Counter(self.script.order)[label]
        self.script.order.append(label)
        seconds = self.script.seconds.get(label, 0.5)
        trial = make_trial(
            f"{label}-{count}",
            label=label,
            strategy=strategy,
            model=model.name,
            model_hash=model.hash,
            cluster=self.cluster.name,
            cluster_hash=self.cluster.hash,
            steps=steps,
            step_times_s=((seconds, 0.0),) * steps,
            events=(Event("0", "compute", "forward", 0.0, 0.1),) if traced else (),
        )
        return self.script.scripts.get(label, lambda runner, done: done)(self, trial)
