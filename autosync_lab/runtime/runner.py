"""`Runner`: measures strategies on a cluster's warm pool."""

import atexit
import hashlib
import io
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from numbers import Integral
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import ClusterUnavailable, InvalidInput, InvalidModel
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.launchers.base import Launcher
from autosync_lab.runtime.patience import FIRST_STEP_PATIENCE_S, STEP_PATIENCE_S, Patience
from autosync_lab.runtime.pool import Answer, Cancelled, WorkerFailed, WorkerPool
from autosync_lab.runtime.trial import OPTIMIZERS, Event, Trial
from autosync_lab.strategy.spec import AllReduce, Strategy
from autosync_lab.strategy.traffic import link_time_s
from autosync_lab.strategy.validate import validate_strategy

if TYPE_CHECKING:
    from autosync_lab.simulator.virtual_runner import VirtualRunner

MAX_SEED = 2**31
"""Seeds are numbers below this: they are added to the int32 counters of random generators."""


@dataclass(frozen=True)
class Progress:
    """How far a trial is: `step` of `steps` timed steps are done; `step_time_s` is the newest one's time."""

    stage: str
    step: int
    steps: int
    step_time_s: float | None = None


@dataclass(frozen=True)
class RunSettings:
    """How a model is trained with a strategy, and `id`, which names the run on its processes."""

    id: str
    strategy: Strategy
    optimizer: str
    learning_rate: float
    seed: int


@dataclass(frozen=True)
class Profile:
    """One replica's compute without synchronization, measured.

    `compute_s` is the median seconds of a step; `ready_s[i]` the median seconds from its start until the gradient of
    variable i is ready.
    """

    compute_s: float
    ready_s: tuple[float, ...]


def open_cluster(
    cluster: ClusterSpec, *, environment: dict[str, str] | None = None, role: str = "worker"
) -> "Runner | VirtualRunner":
    """Start a cluster's processes and wait until they have found each other.

    The launcher "virtual" starts none: what it returns simulates, and its trials say so.

    Parameters
    ----------
    cluster : ClusterSpec
    environment : dict of str to str, optional
        Extra environment of the workers, such as Horovod's settings.
    role : str
        What the processes are: "worker" runs strategies, "mirrored" is a peer (see `autosync_lab.runtime.peers`).

    Returns
    -------
    Runner or VirtualRunner
        Use it as a context manager, or close it.

    Raises
    ------
    ClusterUnavailable
        If the cluster cannot be started: which stage, and what the failing process wrote.
    """
    if not isinstance(cluster, ClusterSpec):
        raise InvalidInput(
            "open_cluster takes a ClusterSpec (see autosync_lab.load_cluster)",
            received=cluster,
        )
    if cluster.launcher == "virtual":
        # The layers above are imported only by who asks for a cluster that they play.
        from autosync_lab.simulator.virtual_runner import VirtualRunner

        return VirtualRunner(cluster)
    return Runner(cluster, _launcher(cluster, environment or {}), role)


def _launcher(cluster: ClusterSpec, environment: dict[str, str]) -> Launcher:
    if cluster.launcher == "local":
        from autosync_lab.runtime.launchers.local import LocalLauncher

        return LocalLauncher(cluster, environment)
    if cluster.launcher == "emulated":
        from autosync_lab.runtime.launchers.emulated import EmulatedLauncher

        return EmulatedLauncher(cluster, environment)
    if cluster.launcher == "ssh":
        from autosync_lab.runtime.launchers.ssh import SshLauncher

        return SshLauncher(cluster, environment)
    raise InvalidInput(
        "this cluster's launcher starts no processes here",
        received=cluster.launcher,
        valid=("local", "emulated", "ssh", "virtual"),
    )


class Runner:
    """Measures strategies on a warm pool of workers, one at a time; made by `open_cluster`."""

    def __init__(self, cluster: ClusterSpec, launcher: Launcher, role: str) -> None:
        self.cluster = cluster
        self._lock = threading.Lock()
        self._launcher = launcher
        self._pool = WorkerPool(cluster, launcher, role)
        self._model: tuple[ModelSpec, str, bytes] | None = None
        self._sent: str | None = None
        self._closed = False
        self._measuring: int | None = None
        _open_runners.add(self)
        try:
            launcher.open()
            self._pool.start()
        except BaseException:
            self.close()
            raise

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what the workers run."""
        return dict(self._launcher.versions)

    @property
    def worker_pids(self) -> dict[int, int]:
        """Pid of each process of the pool, by its number; replicas come in rank order within their nodes."""
        return {i: p.pid for i, p in enumerate(self._pool.processes)}

    @property
    def launcher(self) -> Launcher:
        """What started the processes."""
        return self._launcher

    @property
    def pool(self) -> WorkerPool:
        """The processes; whoever gives them orders does so inside `occupied`."""
        return self._pool

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Have the pool for oneself, until now uncancelled.

        Raises
        ------
        ClusterUnavailable
            If this runner is closed.
        """
        with self._lock:
            if self._closed:
                raise ClusterUnavailable("this runner is closed", stage="start")
            self._measuring = threading.get_ident()
            self._pool.clear_cancel()
            try:
                yield
            finally:
                self._measuring = None
                if self._closed:
                    self._end_all()

    def ready(self, strategy: Strategy) -> None:
        """Start the processes if they are not up, and as the strategy needs them.

        Raises
        ------
        ClusterUnavailable
            If they cannot be started.
        """
        self._ensure_up(_leaves_fusion_to_horovod(strategy))

    def begin_run(
        self, digest: str, settings: RunSettings, patience_s: float, *, first_step: int = 0, snapshot: bytes = b""
    ) -> None:
        """Build a run on all processes.

        Parameters
        ----------
        digest : str
            Of the model, as `send_model` gave it.
        settings : RunSettings
        patience_s : float
            Seconds in which a process must answer.
        first_step : int
            Number of the run's first step.
        snapshot : bytes
            What the run goes on from (`autosync_lab.runtime.engine.checkpoint.Snapshot`), if it does not begin.
        """
        order = {
            "order": "build",
            "model": digest,
            "strategy": settings.strategy.to_json(),
            "optimizer": settings.optimizer,
            "learning_rate": settings.learning_rate,
            "seed": settings.seed,
            "run": settings.id,
            "first_step": first_step,
        }
        self._pool.ask_all(order, patience_s, snapshot)

    def end_run(self, run: str, patience_s: float) -> None:
        """Forget a run on all processes."""
        self._pool.ask_all({"order": "end"}, patience_s)
        self._pool.send(0, {"order": "reset", "run": run})
        self._pool.collect("reset", [0], patience_s)

    def drop_pool(self) -> None:
        """End all processes at once; the next run starts new ones."""
        self._pool.kill()
        self._sent = None

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int = 10,
        warmup: int = 2,
        seed: int = 0,
        optimizer: str = "sgd",
        learning_rate: float = 0.01,
        label: str | None = None,
        trace: bool = False,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Trial:
        """Measure one strategy.

        Parameters
        ----------
        model : ModelSpec
            One that can be run (see `ModelSpec.traced`).
        strategy : Strategy
            Valid for the model and the cluster.
        steps, warmup : int
            Timed steps, and steps before them that are not timed.
        seed : int
            Moves the random generators of the model (dropout masks) of all replicas.
        optimizer : str
            sgd, momentum, adam or adagrad.
        learning_rate : float
        label : str, optional
            How the record calls the strategy; its id if None.
        trace : bool
            Run one more step and record its timeline.
        timeout_s : float, optional
            Seconds without any sign of progress after which the trial has failed; None grows with the step time.
        on_progress : callable, optional
            Called in this thread with a `Progress`.

        Returns
        -------
        Trial
            With status "failed", stage, error and the end of the log if a worker fails; the pool restarts before the
            next trial.

        Raises
        ------
        InvalidInput
            If the input breaks a rule; nothing was run.
        ClusterUnavailable
            If the pool cannot be restarted after an earlier failure.
        """
        trial, _ = self._run_trial(
            model,
            strategy,
            steps,
            warmup,
            seed,
            optimizer,
            learning_rate,
            label,
            trace,
            timeout_s,
            on_progress,
            (),
        )
        return trial

    def train(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int,
        optimizer: str = "sgd",
        learning_rate: float = 0.01,
        timeout_s: float | None = None,
    ) -> tuple[Trial, list[dict[str, npt.NDArray[Any]]]]:
        """Run steps as `measure` does, without warm-up; return every replica's parameters too (by rank, by name)."""
        ranks = tuple(p.index for p in self._pool.places if p.rank is not None)
        return self._run_trial(
            model,
            strategy,
            steps,
            0,
            0,
            optimizer,
            learning_rate,
            None,
            False,
            timeout_s,
            None,
            ranks,
        )

    def profile(self, model: ModelSpec, *, steps: int = 5) -> Profile:
        """Measure the compute of one replica, the others idle.

        Raises
        ------
        WorkerFailed
            If the worker fails.
        """
        steps = _whole("steps", steps)
        if steps < 1:
            raise InvalidInput("a profile has at least 1 step", where="steps", received=steps)
        with self._lock:
            self._pool.clear_cancel()
            self._ensure_up()
            index = next(p.index for p in self._pool.places if p.rank is not None)
            try:
                digest = self.send_model(model, FIRST_STEP_PATIENCE_S)
                order = {
                    "order": "profile",
                    "model": digest,
                    "run": new_id(),
                    "steps": steps,
                }
                self._pool.send(index, order)
                answer = self._pool.collect("profile", [index], FIRST_STEP_PATIENCE_S)[0].message
                self._pool.send(index, {"order": "end"})
                self._pool.collect("end", [index], STEP_PATIENCE_S)
                self._pool.send(index, {"order": "reset", "run": order["run"]})
                self._pool.collect("reset", [index], STEP_PATIENCE_S)
            except BaseException:
                self.drop_pool()
                raise
        assert answer is not None
        return Profile(answer["compute_s"], tuple(answer["ready_s"]))

    def cancel(self) -> None:
        """Stop the running trial; callable from any thread. The pool restarts before the next one."""
        if self._lock.locked():
            self._pool.cancel()

    def close(self) -> None:
        """End everything that was started; may be called twice."""
        self._closed = True
        _open_runners.discard(self)
        self._pool.cancel()
        if self._measuring == threading.get_ident():
            # Called by a trial's own progress callback: that trial stops, and ends everything when it does.
            return
        with self._lock:
            self._end_all()

    def _end_all(self) -> None:
        self._pool.kill()
        self._launcher.close()

    def __enter__(self) -> "Runner":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ensure_up(self, fusing: bool = False) -> None:
        if self._closed:
            raise ClusterUnavailable("this runner is closed", stage="start")
        if self._pool.up and self._pool.fusing != fusing:
            self.drop_pool()
        if not self._pool.up:
            self._launcher.mend()
            self._pool.start(fusing)

    def _run_trial(
        self,
        model: ModelSpec,
        strategy: Strategy,
        steps: int,
        warmup: int,
        seed: int,
        optimizer: str,
        learning_rate: float,
        label: str | None,
        trace: bool,
        timeout_s: float | None,
        on_progress: Callable[[Progress], None] | None,
        fetch_from: tuple[int, ...],
    ) -> tuple[Trial, list[dict[str, npt.NDArray[Any]]]]:
        steps, warmup, seed = check_settings(steps, warmup, seed, optimizer, learning_rate, timeout_s)
        validate_strategy(strategy, model, self.cluster)
        check_dtypes(model)
        model.traced  # noqa: B018  # a model that cannot be run is the caller's mistake: say so before anything starts
        with self.occupied():
            record = Trial(
                id=new_id(),
                created=datetime.now(UTC).isoformat(timespec="milliseconds"),
                label=label or strategy.id,
                model=model.name,
                model_hash=model.hash,
                cluster=self.cluster.name,
                cluster_hash=self.cluster.hash,
                launcher=self.cluster.launcher,
                strategy=strategy,
                status="ok",
                stage="model",
                step_times_s=(),
                setup_s=0.0,
                total_s=0.0,
                bytes_sent=None,
                bytes_received=None,
                steps=steps,
                warmup=warmup,
                seed=seed,
                batch_size=model.batch_size,
                optimizer=optimizer,
                learning_rate=learning_rate,
                bound_s=bandwidth_bound(model, self.cluster, lossless=strategy.lossless),
                versions=self.versions,
            )
            run = _Run(self, record, timeout_s, on_progress)
            try:
                self.ready(strategy)
                parameters = run.perform(model, trace, fetch_from)
            except WorkerFailed as error:
                self.drop_pool()
                run.fail("failed", str(error), error.stderr_tail, error.exit_code)
                return run.record, []
            except Cancelled as error:
                self.drop_pool()
                run.fail("stopped", str(error), "", None)
                return run.record, []
            except BaseException:
                self.drop_pool()
                raise
        return run.record, parameters

    def send_model(self, model: ModelSpec, patience_s: float) -> str:
        """Give all processes a model that they do not have yet; returns its digest."""
        if self._model is None or self._model[0] is not model:
            payload = model.traced.to_bytes()
            self._model = (model, hashlib.sha256(payload).hexdigest(), payload)
        _, digest, payload = self._model
        if self._sent != digest:
            self._pool.ask_all({"order": "model", "hash": digest}, patience_s, payload)
            self._sent = digest
        return digest


class _Run:
    """One trial under way."""

    def __init__(
        self,
        runner: Runner,
        record: Trial,
        timeout_s: float | None,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.record = record
        self._runner = runner
        self._pool = runner._pool
        assert record.strategy is not None
        self._settings = RunSettings(record.id, record.strategy, record.optimizer, record.learning_rate, record.seed)
        self._timeout_s = timeout_s
        self._on_progress = on_progress
        self._begin = time.perf_counter()
        self._in_steps_s = 0.0
        self._rows: dict[int, dict[int, float]] = {}
        self._losses: dict[int, list[float]] = {}

    def perform(self, model: ModelSpec, trace: bool, fetch_from: tuple[int, ...]) -> list[dict[str, npt.NDArray[Any]]]:
        record = self.record
        self._patience = Patience(link_time_s(model, self._runner.cluster, self._settings.strategy), self._timeout_s)
        self._enter("model")
        digest = self._runner.send_model(model, self._patience.seconds)
        self._begin = time.perf_counter()
        self._enter("build")
        self._runner.begin_run(digest, self._settings, self._patience.seconds)
        self._enter("warm-up")
        if record.warmup:
            self._steps(record.warmup)
            self._rows.clear()
            self._losses.clear()
        before = self._runner.launcher.bytes_by_node()
        self._enter("steps")
        self._steps(record.steps)
        after = self._runner.launcher.bytes_by_node()
        self._enter("collect")
        self._keep_steps(before, after)
        events = self._trace() if trace else ()
        parameters = self._fetch(model, fetch_from)
        self._runner.end_run(record.id, self._patience.seconds)
        total = time.perf_counter() - self._begin
        self.record = replace(self.record, events=events, total_s=total, setup_s=total - self._in_steps_s)
        return parameters

    def fail(self, status: Any, error: str, stderr_tail: str, exit_code: int | None) -> None:
        """Turn the record into that of a trial that did not end well; steps timed so far are kept."""
        self._keep_steps(None, None)
        self.record = replace(
            self.record,
            status=status,
            error=error,
            stderr_tail=stderr_tail,
            exit_code=exit_code,
            total_s=time.perf_counter() - self._begin,
        )

    def _enter(self, stage: str) -> None:
        self.record = replace(self.record, stage=stage)
        self._tell(Progress(stage, 0, self.record.steps))

    def _tell(self, progress: Progress) -> None:
        if self._on_progress is not None:
            self._on_progress(progress)

    def _steps(self, count: int) -> None:
        replicas = self.record.strategy.replicas if self.record.strategy else 0
        timed = self.record.stage == "steps"
        done = 0

        def on_message(index: int, message: dict[str, Any]) -> None:
            nonlocal done
            if "step" not in message or message["loss"] is None:
                return
            row = self._rows.setdefault(message["step"], {})
            row[index] = message["seconds"]
            self._losses.setdefault(message["step"], []).append(message["loss"])
            self._patience.learn(message["seconds"])
            if len(row) == replicas:
                done += 1
                if timed:
                    self._tell(Progress("steps", done, self.record.steps, max(row.values())))

        begin = time.perf_counter()
        self._pool.ask_all(
            {"order": "run", "steps": count, "report": True},
            self._patience.seconds,
            on_message=on_message,
        )
        self._in_steps_s += time.perf_counter() - begin

    def _keep_steps(self, before: Any, after: Any) -> None:
        if self.record.stage not in ("steps", "collect"):
            return
        ranks = [p.index for p in self._pool.places if p.rank is not None]
        whole = [row for _, row in sorted(self._rows.items()) if len(row) == len(ranks)]
        losses = [float(np.mean(v)) for _, v in sorted(self._losses.items()) if len(v) == len(ranks)]
        sent = received = None
        if before is not None and after is not None and self.record.steps:
            sent = {n: (after[n][0] - before[n][0]) / self.record.steps for n in after}
            received = {n: (after[n][1] - before[n][1]) / self.record.steps for n in after}
        self.record = replace(
            self.record,
            step_times_s=tuple(tuple(row[i] for i in ranks) for row in whole),
            losses=tuple(losses),
            bytes_sent=sent,
            bytes_received=received,
        )

    def _trace(self) -> tuple[Event, ...]:
        answers = self._pool.ask_all({"order": "trace"}, self._patience.seconds)
        nodes = {p.index: p.node for p in self._pool.places}
        ahead = {node: self._runner.launcher.clock_ahead_s(node) for node in set(nodes.values())}
        events = [
            (a.index, lane, name, start - ahead[nodes[a.index]], end - ahead[nodes[a.index]])
            for a in answers
            if a.message is not None
            for lane, name, start, end in a.message["events"]
        ]
        begin = min((start for _, _, _, start, _ in events), default=0.0)
        return tuple(
            Event(self._pool.name(index), lane, name, start - begin, end - begin)
            for index, lane, name, start, end in events
        )

    def _fetch(self, model: ModelSpec, indices: tuple[int, ...]) -> list[dict[str, npt.NDArray[Any]]]:
        names = [v.name for v in model.variables]
        parameters = []
        for index in indices:
            self._pool.send(index, {"order": "fetch"})
            answer: Answer = self._pool.collect("fetch", [index], self._patience.seconds)[0]
            with np.load(io.BytesIO(answer.payload), allow_pickle=False) as archive:
                parameters.append({name: archive[str(i)] for i, name in enumerate(names)})
        return parameters


def _leaves_fusion_to_horovod(strategy: Strategy) -> bool:
    """True if collectives are in no group: Horovod can either fuse all of them as it likes, or none across groups."""
    reduced = [s for v in strategy.variables for s in v.shards if isinstance(s, AllReduce)]
    return bool(reduced) and all(s.group is None for s in reduced)


def _whole(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput("a whole number is needed", where=where, received=value)
    return int(value)


def check_dtypes(model: ModelSpec) -> None:
    """Check that the variables can be synchronized.

    Raises
    ------
    InvalidModel
        Naming the variable that cannot.
    """
    for variable in model.variables:
        if variable.dtype == "bfloat16":
            raise InvalidModel(
                "neither parameter servers nor Horovod add bfloat16 numbers; keep variables in float32 (dtype policy "
                "mixed_bfloat16)",
                where=f"variable {variable.name!r}",
                received=variable.dtype,
            )


def check_settings(
    steps: int, warmup: int, seed: int, optimizer: str, learning_rate: float, timeout_s: float | None
) -> tuple[int, int, int]:
    """Check the settings of a trial, and return its whole numbers as such: steps, warmup, seed.

    Raises
    ------
    InvalidInput
        Naming the setting that breaks a rule.
    """
    steps, warmup, seed = _whole("steps", steps), _whole("warmup", warmup), _whole("seed", seed)
    for where, number in (("learning_rate", learning_rate), ("timeout_s", timeout_s)):
        if isinstance(number, bool) or not isinstance(number, int | float | None):
            raise InvalidInput("a number is needed", where=where, received=number)
    if not 0 <= seed < MAX_SEED:
        raise InvalidInput(f"a seed is 0 to {MAX_SEED - 1}", where="seed", received=seed)
    if steps < 1:
        raise InvalidInput("at least 1 step is run", where="steps", received=steps)
    if warmup < 0:
        raise InvalidInput("warm-up steps are 0 or more", where="warmup", received=warmup)
    if optimizer not in OPTIMIZERS:
        raise InvalidInput("unknown optimizer", where="optimizer", received=optimizer, valid=OPTIMIZERS)
    if not 0.0 <= learning_rate < float("inf"):
        raise InvalidInput(
            "a learning rate is 0 or more",
            where="learning_rate",
            received=learning_rate,
        )
    if timeout_s is not None and not timeout_s > 0:
        raise InvalidInput("a timeout is above 0 seconds", where="timeout_s", received=timeout_s)
    return steps, warmup, seed


def new_id() -> str:
    """A name of a run that no other run has."""
    return uuid.uuid4().hex


_open_runners: "weakref.WeakSet[Runner]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for runner in list(_open_runners):
        runner.close()
