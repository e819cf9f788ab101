"""Measure several strategies in turns on one cluster, keeping every trial as it ends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autosync_lab.cli.interrupts import one_interrupt
from autosync_lab.cli.output import plural, say
from autosync_lab.cli.progress import TrialProgress
from autosync_lab.errors import AutoSyncLabError, ClusterUnavailable

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.model import ModelSpec
    from autosync_lab.runtime import Progress, Runner, Trial
    from autosync_lab.simulator import VirtualRunner
    from autosync_lab.strategy import Strategy
    from autosync_lab.study import TrialStore


@dataclass(frozen=True)
class TrialSettings:
    """What all trials of one run have in common."""

    steps: int
    warmup: int = 2
    seed: int = 0
    optimizer: str = "sgd"
    learning_rate: float = 0.01
    trace: bool = False

    @classmethod
    def of(cls, arguments: "argparse.Namespace", *, trace: bool = False) -> "TrialSettings":
        """The settings of a command line.

        Raises
        ------
        InvalidInput
            If the optimizer is unknown.
        """
        from autosync_lab.errors import InvalidInput
        from autosync_lab.runtime.trial import OPTIMIZERS

        if arguments.optimizer not in OPTIMIZERS:
            raise InvalidInput("unknown optimizer", received=arguments.optimizer, valid=OPTIMIZERS)
        return cls(
            arguments.steps,
            arguments.warmup,
            arguments.seed,
            arguments.optimizer,
            arguments.learning_rate,
            trace,
        )


@dataclass(frozen=True)
class Job:
    """One competitor: how it is called, and how a trial of it is run."""

    label: str
    run: "Callable[[Callable[[Progress], None]], Trial]"


def strategy_job(
    runner: "Runner | VirtualRunner", model: "ModelSpec", label: str, strategy: "Strategy", settings: TrialSettings
) -> Job:
    """Measure a strategy on a warm pool."""

    def run(on_progress: "Callable[[Progress], None]") -> "Trial":
        return runner.measure(
            model,
            strategy,
            steps=settings.steps,
            warmup=settings.warmup,
            seed=settings.seed,
            optimizer=settings.optimizer,
            learning_rate=settings.learning_rate,
            label=label,
            trace=settings.trace,
            on_progress=on_progress,
        )

    return Job(label, run)


def require_runnable(model: "ModelSpec") -> None:
    """Say that a model cannot be run before a cluster is started for it.

    Raises
    ------
    InvalidModel
        If it is known by its variables only.
    """
    if model.tracer is None:
        model.traced  # noqa: B018  # raises, with the reason


@contextmanager
def opened(cluster: "ClusterSpec") -> "Iterator[Runner | VirtualRunner]":
    """A cluster's warm pool, closed again whatever happens.

    Raises
    ------
    ClusterUnavailable
        If the cluster cannot be started.
    """
    from autosync_lab import runtime

    size = f"{plural(cluster.replicas, 'replica')} on {plural(len(cluster.nodes), 'node')}"
    say(f"Starting {cluster.name} ({cluster.launcher}): {size} ...")
    with one_interrupt(), runtime.open_cluster(cluster) as runner:
        yield runner


@contextmanager
def maybe_store(path: "str | Path | None") -> "Iterator[TrialStore | None]":
    """The store to keep trials in, if one was asked for."""
    if path is None:
        yield None
        return
    from autosync_lab.study import TrialStore

    with TrialStore(path) as store:
        yield store


@dataclass(frozen=True)
class Series:
    """Trials in the order in which they ended; `complete` is False if a cluster failed for good before the last one."""

    trials: "tuple[Trial, ...]"
    complete: bool

    @property
    def exit_code(self) -> int:
        """0 if every trial was run and succeeded, else 1."""
        return 0 if self.complete and all(trial.status == "ok" for trial in self.trials) else 1


def measure_in_turns(jobs: Sequence[Job], repeat: int, steps: int, store: "TrialStore | None") -> Series:
    """Run every job once, then every job again, `repeat` times: a slow change of the machine hits all alike.

    A trial is in the store before the next one starts. If the series ends early, a message says what was kept; if that
    is because a cluster cannot be started (again), what was measured until then is returned.
    """
    trials: list[Trial] = []
    turns = [*jobs] * repeat
    try:
        with TrialProgress(len(turns), steps) as progress:
            for job in turns:
                progress.begin(job.label)
                trial = job.run(progress)
                if store is not None:
                    store.add(trial)
                trials.append(trial)
                progress.end(trial)
    except ClusterUnavailable as error:
        say(f"autosync-lab: error: {turns[len(trials)].label}: {error}")
        say(_kept(len(trials), store))
    except (KeyboardInterrupt, AutoSyncLabError):
        say(_kept(len(trials), store))
        raise
    return Series(tuple(trials), complete=len(trials) == len(turns))


def _kept(trials: int, store: "TrialStore | None") -> str:
    if store is None:
        return f"Stopped after {plural(trials, 'trial')}; none is kept, as no --store was given."
    return f"Stopped; {plural(trials, 'trial')} kept in {store.path}."
