"""Training under way: steps, checkpoints, and going on after a lost process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.array_archive import pack
from autosync_lab.runtime.engine.checkpoint import Snapshot, unpack_parts
from autosync_lab.runtime.feed_queue import FEED_AHEAD
from autosync_lab.runtime.patience import FIRST_STEP_PATIENCE_S, Patience
from autosync_lab.runtime.pool import WorkerFailed
from autosync_lab.runtime.runner import Runner, RunSettings, new_id
from autosync_lab.runtime.training.checkpoint_folder import (
    About,
    Checkpoint,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from autosync_lab.runtime.training.feed import DatasetFunction, Feed
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.traffic import link_time_s

MOST_LOSSES = 3
"""Times that processes may be lost before a step that was not done before is done."""


@dataclass(frozen=True)
class TrainingStep:
    """Step number `step` (from 1) of `steps` is done: mean loss over replicas, and seconds of the slowest replica."""

    step: int
    steps: int
    loss: float
    step_time_s: float


@dataclass(frozen=True)
class Plan:
    """What is trained, how long, and where checkpoints go: one every `every` steps and one after the last."""

    model: ModelSpec
    strategy: Strategy
    steps: int
    optimizer: str
    learning_rate: float
    seed: int
    folder: Path | None
    every: int | None

    def pause_after(self, step: int) -> int:
        """The next step after which a checkpoint is taken."""
        return min(self.steps, (step // self.every + 1) * self.every) if self.every else self.steps


class TrainingRun:
    """Carries out a plan on a runner's processes.

    Parameters
    ----------
    runner : Runner
    plan : Plan
    dataset_fn : callable
    interrupted : callable
        Once it says True, training ends after the steps whose batches are under way.
    on_step : callable
        Gets a `TrainingStep` after each step.
    """

    def __init__(
        self,
        runner: Runner,
        plan: Plan,
        dataset_fn: DatasetFunction,
        interrupted: Callable[[], bool],
        on_step: Callable[[TrainingStep], None],
    ) -> None:
        self.losses: list[float] = []
        self.step_times_s: list[float] = []
        self.notes: tuple[str, ...] = ()
        self.path = newest_checkpoint(plan.folder) if plan.folder else None
        self._runner = runner
        self._plan = plan
        self._dataset_fn = dataset_fn
        self._interrupted = interrupted
        self._on_step = on_step
        self._first_step: int | None = None
        self._furthest = -1
        self._times_lost = 0

    def perform(self) -> Checkpoint:
        """Train; returns what came of it, of fewer steps than planned if it was interrupted.

        Raises
        ------
        InvalidInput
            If the data is not what the model takes.
        WorkerFailed
            If processes are lost again and again.
        """
        with self._runner.occupied():
            while True:
                try:
                    return self._attempt()
                except WorkerFailed as error:
                    self._runner.drop_pool()
                    self._count_loss(error)
                except BaseException:
                    self._runner.drop_pool()
                    raise

    def _attempt(self) -> Checkpoint:
        plan, runner = self._plan, self._runner
        start = read_checkpoint(self.path) if self.path else None
        done = start.about.step if start else 0
        if self._first_step is None:
            self._first_step = done
        # Steps after the last checkpoint are done again.
        del self.losses[done - self._first_step :], self.step_times_s[done - self._first_step :]
        traced, replicas = plan.model.traced, runner.cluster.replicas
        feed = Feed(self._dataset_fn, replicas, traced.inputs)
        for _ in range(done):
            feed.next_step()
        seeds = [v.name for v in traced.state if v.is_seed]
        known = start.snapshot.for_replicas(replicas, seeds).to_bytes() if start else b""
        runner.ready(plan.strategy)
        patience = Patience(link_time_s(plan.model, runner.cluster, plan.strategy))
        digest = runner.send_model(plan.model, patience.seconds)
        settings = RunSettings(new_id(), plan.strategy, plan.optimizer, plan.learning_rate, plan.seed)
        runner.begin_run(digest, settings, patience.seconds, first_step=done, snapshot=known)
        while True:
            before, done = done, self._steps(feed, done, plan.pause_after(done), patience)
            checkpoint = self._save(done)
            if plan.folder and done > before:
                self.path = write_checkpoint(plan.folder, checkpoint)
            if done == plan.steps or self._interrupted():
                break
        runner.end_run(settings.id, patience.seconds)
        self.notes += feed.notes
        return checkpoint

    def _steps(self, feed: Feed, first: int, end: int, patience: Patience) -> int:
        """Run the steps `first` to `end`, or fewer if interrupted; returns the number of steps done in all."""
        pool = self._runner.pool
        ranks = [p.rank for p in pool.places]
        fed = done = first
        over = False
        rows: dict[int, dict[int, tuple[float, float]]] = {}

        def give() -> None:
            """Send what the processes have room for. Nobody gets a batch for a step that another one does not do."""
            nonlocal fed, over
            while not over and fed < end and fed - done < FEED_AHEAD and not self._interrupted():
                payloads = [pack((None, array) for array in batch) for batch in feed.next_step()]
                for index, rank in enumerate(ranks):
                    pool.send(index, {"order": "feed"}, b"" if rank is None else payloads[rank])
                fed += 1
            if not over and (fed == end or self._interrupted()):
                over = True
                for index in range(len(ranks)):
                    pool.send(index, {"order": "feed", "last": True})

        def on_message(index: int, message: dict[str, Any]) -> None:
            nonlocal done
            if message["loss"] is None:
                return
            row = rows.setdefault(message["step"], {})
            row[index] = message["loss"], message["seconds"]
            patience.learn(message["seconds"])
            if len(row) == self._runner.cluster.replicas:
                done += 1
                self._record(rows.pop(message["step"]), done)
                give()

        for index in range(len(ranks)):
            pool.send(index, {"order": "train"})
        give()
        pool.collect("train", range(len(ranks)), patience.seconds, on_message)
        return done

    def _record(self, row: dict[int, tuple[float, float]], done: int) -> None:
        losses, seconds = zip(*(row[i] for i in sorted(row)), strict=True)
        self.losses.append(float(np.mean(losses)))
        self.step_times_s.append(max(seconds))
        self._on_step(TrainingStep(done, self._plan.steps, self.losses[-1], self.step_times_s[-1]))

    def _save(self, step: int) -> Checkpoint:
        plan, runner = self._plan, self._runner
        answers = runner.pool.ask_all({"order": "save"}, FIRST_STEP_PATIENCE_S)
        snapshot = Snapshot.join(part for answer in answers for part in unpack_parts(answer.payload))
        about = About(
            step=step,
            model=plan.model.name,
            model_hash=plan.model.hash,
            strategy_id=plan.strategy.id,
            cluster=runner.cluster.name,
            replicas=runner.cluster.replicas,
            optimizer=plan.optimizer,
            learning_rate=plan.learning_rate,
            seed=plan.seed,
            versions=runner.versions,
        )
        return Checkpoint(about, snapshot)

    def _count_loss(self, error: WorkerFailed) -> None:
        if self._interrupted():
            raise KeyboardInterrupt from error
        done = (self._first_step or 0) + len(self.losses)
        self._times_lost = 1 if done > self._furthest else self._times_lost + 1
        self._furthest = max(self._furthest, done)
        if self._times_lost == MOST_LOSSES:
            raise WorkerFailed(
                f"training failed {MOST_LOSSES} times without getting past step {self._furthest}; at last: {error}",
                error.stderr_tail,
                error.exit_code,
            ) from error
        self.notes += (f"after step {done}: {error}",)
