"""A cluster that measures nothing: its times are a function of the strategy, and a test can script what goes wrong."""

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.model.spec import ModelSpec
from autosync_lab.model.variable import Variable
from autosync_lab.runtime.runner import Progress
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy
from tests.study.trial_factory import make_trial

MODEL = ModelSpec(
    "small",
    (
        Variable("table", (4000, 16), sparse=True, touched_rows=60.0),
        Variable("dense/kernel", (256, 256), ready=0.7),
        Variable("dense/bias", (256,), ready=0.4),
        Variable("head/kernel", (256, 10), ready=0.2),
    ),
    batch_size=32,
    flops=1e8,
)
CLUSTER = ClusterSpec("two-nodes", (Node("a", 1, 1.0, 1.0), Node("b", 1, 1.0, 1.0)), "emulated")
BASELINES = ("ps", "horovod", "parallax")

Script = Callable[["FakeRunner", Trial], Trial]


def seconds_of(strategy: Strategy) -> float:
    """The step time that every trial of a strategy has."""
    return 0.1 + int(strategy.id, 16) % 1000 / 1000


class FakeRunner:
    """What a study needs of a runner. `script` may change or replace every trial, or raise."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script
        self.measured: Counter[str] = Counter()
        self.labels: list[str] = []
        self.cancelled = 0
        self.closed = False

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int,
        warmup: int,
        label: str,
        on_progress: Callable[[Progress], None],
    ) -> Trial:
        on_progress(Progress("build", 0, steps))
        seconds = seconds_of(strategy)
        trial = make_trial(
            uuid.uuid4().hex,
            label=label,
            strategy=strategy,
            model=model.name,
            model_hash=model.hash,
            cluster=CLUSTER.name,
            cluster_hash=CLUSTER.hash,
            steps=steps,
            warmup=warmup,
            step_times_s=((seconds, 0.0),) * steps,
            simulated=True,
        )
        if self.script is not None:
            trial = self.script(self, trial)
        self.measured[strategy.id] += trial.status != "stopped"
        self.labels.append(label)
        return trial

    def cancel(self) -> None:
        self.cancelled += 1

    def close(self) -> None:
        self.closed = True


def failed(trial: Trial, stage: str = "build") -> Trial:
    """The trial, had a worker died."""
    return replace(trial, status="failed", stage=stage, step_times_s=(), error="worker 1 ended", exit_code=-9)
