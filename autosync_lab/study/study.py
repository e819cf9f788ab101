"""`Study`: one search for the fastest strategy, with all its trials."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import MAX_SEED, Progress
from autosync_lab.runtime.trial import Trial
from autosync_lab.search import SearchAlgorithm, make_algorithm
from autosync_lab.simulator import Simulator, make_simulator
from autosync_lab.space.constraints import DEFAULT_CONSTRAINTS
from autosync_lab.space.space import StrategySpace
from autosync_lab.strategy.builders import builder_card, builder_names
from autosync_lab.study import history
from autosync_lab.study.config import describe_space, documents, require_same, stored_cluster, stored_model
from autosync_lab.study.control import Control, Stopped
from autosync_lab.study.event import StudyEvent
from autosync_lab.study.frame import study_frame
from autosync_lab.study.history import DriftPoint, Round, StudyTrial
from autosync_lab.study.measures import Measures
from autosync_lab.study.run_lock import is_running, run_lock
from autosync_lab.study.searching import Search, build_baselines, measure_baselines, measure_finals
from autosync_lab.study.session import Session
from autosync_lab.study.speedup import Speedup
from autosync_lab.study.store import TrialStore
from autosync_lab.study.study_store import StudyStore

if TYPE_CHECKING:
    import pandas as pd

State = Literal["new", "running", "paused", "stopped", "interrupted", "failed", "ended"]

AlgorithmFactory = Callable[[StrategySpace, int, Simulator | None], SearchAlgorithm]
"""Makes a fresh algorithm of a space, a seed and a simulator. A run replays the study's history into it, so what it
proposes must be a function of these and of what it was asked and told."""

DEFAULT_BATCH_SIZE = 8
DEFAULT_ALGORITHM = "autosync"
DEFAULT_SIMULATOR = "gp"
"""`autosync-lab rank` on the shipped trials: best after 60 of a pair, and after 8 no worse than the cost model."""
FINAL_REPEATS = 5


class Study:
    """One search for the fastest strategy of a model on a cluster, with all its trials.

    Everything is in the store as it happens, so a study that was stopped, interrupted or killed goes on where it was:
    make it again with the same arguments, or `Study.open` it, and `run`. Other processes may read it meanwhile.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    store : path-like, optional
        The trial store's file, made if it does not exist; None keeps everything in memory.
    name : str, optional
        The study's name in the store; "MODEL on CLUSTER" if None. If there is a study of this name, this one goes on
        with it.
    space : StrategySpace, optional
        What is searched; what the default constraints leave if None.
    lossy : bool
        Compressors that lose bits are in the default space, and lossy builders among the default baselines.
    seed : int
        Same seed, same proposals, as long as the times are the same.
    steps, warmup : int
        Timed steps of each trial, and steps before them.

    Raises
    ------
    InvalidInput
        If an argument breaks a rule, or there is a study of this name with other settings.
    StoreUnavailable
        If the system refuses.
    """

    def __init__(
        self,
        model: ModelSpec,
        cluster: ClusterSpec,
        store: str | Path | None = None,
        *,
        name: str | None = None,
        space: StrategySpace | None = None,
        lossy: bool = False,
        seed: int = 0,
        steps: int = 5,
        warmup: int = 1,
    ) -> None:
        if not isinstance(model, ModelSpec) or not isinstance(cluster, ClusterSpec):
            raise InvalidInput("a study has a ModelSpec and a ClusterSpec (see load_model, load_cluster)")
        _whole("seed", seed, 0, MAX_SEED)
        _whole("steps", steps, 1)
        _whole("warmup", warmup, 0)
        name = f"{model.name} on {cluster.name}" if name is None else name
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput("a study's name is a text", where="name", received=name)
        if space is not None and (space.model.hash != model.hash or space.cluster.hash != cluster.hash):
            raise InvalidInput("the space is of another model or cluster", where="space", received=repr(space))
        if space is not None and lossy and not space.lossy:
            raise InvalidInput("this space has no lossy strategies", where="lossy", received=lossy)
        self._begin(TrialStore(store), name)
        try:
            stored = self._stored()
            if stored is not None:
                require_same(name, stored, {"model_hash": model.hash, "cluster_hash": cluster.hash})
                model = stored_model(stored, self._where, model)
            self.model, self.cluster = model, cluster
            self.space = _default_space(model, cluster, lossy) if space is None else space
            self.seed, self.steps, self.warmup = seed, steps, warmup
            if stored is not None:
                require_same(name, stored, self._fixed())
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls,
        store: str | Path,
        name: str | None = None,
        *,
        model: ModelSpec | None = None,
        space: StrategySpace | None = None,
    ) -> Self:
        """Open a stored study, to watch it or to go on with it. Nothing is written before `run`.

        Parameters
        ----------
        store : path-like
        name : str, optional
            May be left out if there is one study in the store.
        model : ModelSpec, optional
            What runs, where the study's model is not in the catalog. To watch, none is needed.
        space : StrategySpace, optional
            What is searched, where it is not the default space of the study.

        Raises
        ------
        InvalidInput
            If there is no such store or study, or `model` is another one.
        StoreUnavailable
            If the system refuses.
        """
        study = cls.__new__(cls)
        study._begin(TrialStore.open_readonly(store), "")
        try:
            names = study._store.names()
            if name is None and len(names) == 1:
                name = names[0]
            if name not in names:
                rule = "which study?" if name is None else "there is no study of this name"
                raise InvalidInput(rule, where=str(store), received=name, valid=names)
            study.name = name
            study._writable = False
            stored = study._stored()
            assert stored is not None
            if model is not None:
                require_same(name, stored, {"model_hash": model.hash})
            try:
                study.model = stored_model(stored, study._where, model)
                study.cluster = stored_cluster(stored, study._where)
                study.seed, study.steps, study.warmup = (int(stored[k]) for k in ("seed", "steps", "warmup"))
                lossy = bool(stored["space"]["lossy"])
            except (KeyError, TypeError, ValueError) as error:
                if isinstance(error, InvalidInput):
                    raise
                raise InvalidInput(f"this study is damaged ({error!r})", where=study._where) from None
            study.space = _default_space(study.model, study.cluster, lossy) if space is None else space
        except BaseException:
            study.close()
            raise
        return study

    @staticmethod
    def names(store: str | Path) -> tuple[str, ...]:
        """Names of the studies in a store, oldest first."""
        with TrialStore.open_readonly(store) as trials:
            return StudyStore(trials).names()

    def run(
        self,
        n_trials: int = 50,
        batch_size: int | None = None,
        algorithm: str | AlgorithmFactory | None = None,
        simulator: str | Simulator | None = None,
        baselines: Sequence[str] | None = None,
        on_event: Callable[[StudyEvent], None] | None = None,
        runner: Measures | None = None,
        *,
        confirm: bool = True,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Measure the baselines, then proposals until `n_trials` of them are measured in all, then the finals.

        Baselines, proposals and finals that were measured before count; so `run` goes on where an earlier one ended,
        with the proposals that it would have made. Every 10 proposals the best baseline is measured again (see
        `drift`). A trial that fails is told to the search as one without a time; five in a row end the run.

        Parameters
        ----------
        n_trials : int
            Proposals in all; baselines and repetitions do not count.
        batch_size : int, optional
            Proposals that the search is asked for at once. None is the study's own number; that of a new study is 8. A
            round that `n_trials` cuts short is finished by the next run.
        algorithm : str or callable, optional
            A name that `autosync_lab.search.make_algorithm` knows, or what makes an algorithm of a space, a seed and a
            simulator. None is the study's own one; that of a new study is "autosync".
        simulator : str or Simulator, optional
            A name that `autosync_lab.simulator.make_simulator` knows ("none" for none), the file of a saved one, or one
            that is not fitted yet. None is the study's own one; that of a new study is "gp".
        baselines : sequence of str, optional
            Builders. None is the study's own ones; those of a new study are all of the space's semantics. Builders
            that have no strategy here are left out, which an event says.
        on_event : callable, optional
            Gets every `StudyEvent`, in this thread.
        runner : Runner, optional
            An open cluster, which stays open. None opens the study's cluster and closes it at the end.
        confirm : bool
            Measure the best strategies again at the end (see `confirm`), if anything is new since they were.
        on_progress : callable, optional
            Gets the `Progress` of every trial, in this thread.

        Raises
        ------
        InvalidInput
            If an argument breaks a rule or is not that of the stored study, or the study is running already. Then
            nothing was measured.
        TrialsFailing
            After five failures in a row.
        ClusterUnavailable
            If the cluster cannot be started, or restarted after a failure.
        StoreUnavailable
            If the system refuses to write.
        KeyboardInterrupt
            After Ctrl-C, with the store as after `stop`.
        """
        _whole("n_trials", n_trials, 0)
        if batch_size is not None:
            _whole("batch_size", batch_size, 1)
        with self._running() as control:
            stored = self._stored() or {}
            if batch_size is None:
                batch_size = int(stored.get("batch_size", DEFAULT_BATCH_SIZE))
            algorithm_name = _name_of(algorithm, stored.get("algorithm", DEFAULT_ALGORITHM))
            simulator_name = _name_of(simulator, stored.get("simulator", DEFAULT_SIMULATOR))
            names = self._baseline_names(baselines, stored)
            chosen = {"algorithm": algorithm_name, "simulator": simulator_name, "baselines": names}
            require_same(self.name, stored, self._fixed() | chosen)
            judge = self._simulator(simulator, simulator_name)
            searcher = self._algorithm(algorithm, algorithm_name, judge)
            built, left_out = build_baselines(names, self.model, self.cluster)

            session = self._session(control, on_event, on_progress, chosen | {"batch_size": batch_size})
            settings = {"n_trials": n_trials, "batch_size": batch_size} | chosen
            with self._measuring(session, runner, settings):
                measure_baselines(session, built, left_out)
                order = [label for label, _ in built]
                search = Search(session, searcher, algorithm_name, judge, order, self.cluster)
                search.run(n_trials, batch_size)
                if confirm and self._is_unconfirmed():
                    measure_finals(session, FINAL_REPEATS, self.seed)

    def confirm(
        self,
        runner: Measures | None = None,
        repeats: int = FINAL_REPEATS,
        *,
        on_event: Callable[[StudyEvent], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Speedup | None:
        """Measure the 3 best strategies found and the 2 best baselines again: `repeats` turns, each in its own order.

        Parameters
        ----------
        runner : Runner, optional
            As of `run`.
        repeats : int
            Turns: trials of each of the strategies.
        on_event, on_progress : callable, optional
            As of `run`.

        Returns
        -------
        Speedup or None
            None if it was stopped, or no trial of a strategy found or of a baseline succeeded.

        Raises
        ------
        InvalidInput
            If no proposal or no baseline has a step time yet; else as `run`.
        """
        _whole("repeats", repeats, 1)
        result: Speedup | None = None
        with self._running() as control:
            if not {"proposal", "baseline"} <= {r.role for r in self.records if r.ok}:
                raise InvalidInput(
                    "there is nothing to compare: at least one proposal and one baseline need a step time",
                    where=f"study {self.name!r}",
                )
            session = self._session(control, on_event, on_progress, {})
            with self._measuring(session, runner, {"repeats": repeats}):
                result = measure_finals(session, repeats, self.seed)
        return result

    def pause(self) -> None:
        """Let the running trial end and start no other one until `resume`; from any thread. No effect if none runs."""
        self._steer(Control.pause)

    def resume(self) -> None:
        """Go on after `pause`; from any thread."""
        self._steer(Control.resume)

    def stop(self) -> None:
        """End `run`, which returns; the running trial is cancelled. From any thread. No effect if none runs."""
        self._steer(Control.stop)

    @property
    def state(self) -> State:
        """new, running, paused (between two trials), stopped, failed or ended; interrupted if its process has gone."""
        last = self._store.last_event(self.name, ("study-started", "paused", "resumed", "study-ended"))
        if last is None:
            return "new"
        if last.kind == "study-ended":
            state: State = last.data["state"]
            return state
        if self._control is None and not is_running(self._store.trials.path, self.name):
            return "interrupted"
        return "paused" if last.kind == "paused" else "running"

    @property
    def records(self) -> tuple[StudyTrial, ...]:
        """All trials so far, with their role, in the order in which they ended."""
        with self._lock:
            since = self._known[-1].number if self._known else 0
            self._known += self._store.records(self.name, since)
            return tuple(self._known)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far, in the order in which they ended."""
        return tuple(r.trial for r in self.records)

    @property
    def baselines(self) -> tuple[Trial, ...]:
        """The first measurement of every baseline."""
        return tuple(r.trial for r in self.records if r.role == "baseline" and r.measured)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """What the search proposed, round by round, also what was not measured yet."""
        return self._store.rounds(self.name)

    @property
    def best(self) -> Trial | None:
        """The fastest strategy: the proposal or baseline with the least step time, None if there is none yet.

        Once the best strategies were measured again, the one with the least median of these times; until a proposal is
        measured after that.
        """
        records = self.records
        speedup = self.speedup
        if speedup is not None and not self._is_unconfirmed():
            winner = speedup.best_id if speedup.ratio >= 1.0 else speedup.baseline_id
            records = tuple(r for r in records if r.trial.strategy_id == winner)
        found = history.best(records)
        return None if found is None else found.trial

    @property
    def speedup(self) -> Speedup | None:
        """What the newest `confirm` found; None if there was none."""
        last = self._store.last_event(self.name, ("confirmed",))
        return None if last is None else Speedup.from_json(last.data.get("speedup"))

    def drift(self) -> tuple[DriftPoint, ...]:
        """The anchor's times over the run, as ratio to its first: how much the cluster itself changed meanwhile.

        The anchor is the best baseline; it is measured again every 10 proposals.
        """
        return history.drift(self.records)

    def events(self, since: int = 0) -> list[StudyEvent]:
        """Events with a number above `since`, in order: how a second process follows a study."""
        return self._store.events(self.name, since)

    def to_frame(self) -> "pd.DataFrame":
        """One row per trial, in order; times in seconds, `simulated` is True where a simulator produced them.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        return study_frame(self.records)

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        for store in self._opened:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        path = self._store.trials.path
        return f"Study({self.name!r}, store={None if path is None else str(path)!r}, state={self.state!r})"

    def _begin(self, trials: TrialStore, name: str) -> None:
        self.name = name
        self._opened = [trials]
        self._store = StudyStore(trials)
        self._writable = True
        self._lock = threading.RLock()
        self._control: Control | None = None
        self._known: list[StudyTrial] = []

    @property
    def _where(self) -> str:
        return f"{self._store.trials.path}: study {self.name!r}"

    def _stored(self) -> dict[str, Any] | None:
        return self._store.config(self.name)

    def _fixed(self) -> dict[str, Any]:
        return {
            "model_hash": self.model.hash,
            "cluster_hash": self.cluster.hash,
            "seed": self.seed,
            "steps": self.steps,
            "warmup": self.warmup,
            "space": describe_space(self.space),
        }

    def _baseline_names(self, given: Sequence[str] | None, stored: dict[str, Any]) -> list[str]:
        if given is None:
            if "baselines" in stored:
                return list(stored["baselines"])
            return [n for n in builder_names() if self.space.lossy or builder_card(n).lossless]
        if isinstance(given, str):
            raise InvalidInput(
                "baselines are a list of names", where="baselines", received=given, valid=builder_names()
            )
        names = list(dict.fromkeys(given))
        for name in names:
            if not builder_card(name).lossless and not self.space.lossy:
                valid = [n for n in builder_names() if builder_card(n).lossless]
                raise InvalidInput(
                    "this baseline changes what training computes, and the study does not (see lossy)",
                    where="baselines",
                    received=name,
                    valid=valid,
                )
        return names

    def _simulator(self, given: str | Simulator | None, name: str) -> Simulator | None:
        if given is not None and not isinstance(given, str):
            return given
        if name == "none":
            return None
        return make_simulator(name, self.model, self.cluster)

    def _algorithm(
        self, given: str | AlgorithmFactory | None, name: str, simulator: Simulator | None
    ) -> SearchAlgorithm:
        if given is not None and not isinstance(given, str):
            return given(self.space, self.seed, simulator)
        return make_algorithm(name, self.space, self.seed, simulator)

    def _is_unconfirmed(self) -> bool:
        last = self._store.last_event(self.name, ("confirmed",))
        since = 0 if last is None else int(last.data["number"])
        return any(r.role == "proposal" and r.measured and r.number > since for r in self.records)

    def _steer(self, order: Callable[[Control], None]) -> None:
        control = self._control
        if control is not None:
            order(control)

    @contextmanager
    def _running(self) -> Iterator[Control]:
        """The only run of this study, here or in another process."""
        with self._lock:
            if self._control is not None:
                raise InvalidInput("this study is running", received=self.name)
            control = self._control = Control()
        try:
            with run_lock(self._store.trials.path, self.name):
                if not self._writable:
                    # Readers in other threads may be using the old one.
                    self._opened.append(TrialStore(self._store.trials.path))
                    self._store = StudyStore(self._opened[-1])
                    self._writable = True
                yield control
        finally:
            self._control = None

    def _session(
        self,
        control: Control,
        on_event: Callable[[StudyEvent], None] | None,
        on_progress: Callable[[Progress], None] | None,
        chosen: dict[str, Any],
    ) -> Session:
        self._store.create(self.name, documents(self.model, self.cluster) | self._fixed() | chosen)
        return Session(self._store, self.name, self.model, self.steps, self.warmup, control, on_event, on_progress)

    @contextmanager
    def _measuring(self, session: Session, runner: Measures | None, settings: dict[str, Any]) -> Iterator[None]:
        """From study-started to study-ended, whatever ends it."""

        def end(state: State, **why: Any) -> None:
            session.emit("study-ended", {"state": state, "measured": len(session.proposals)} | why)

        try:
            about = {"model": self.model.name, "cluster": self.cluster.name, "seed": self.seed}
            session.emit("study-started", about | {"measured": len(session.proposals)} | settings)
            with ExitStack() as opened:
                if runner is None:
                    from autosync_lab import runtime

                    runner = opened.enter_context(closing(runtime.open_cluster(self.cluster)))
                session.measures_with(runner)
                yield
            end("ended")
        except Stopped:
            session.emit("stopped", {"reason": "stop"})
            end("stopped")
        except Exception as error:
            # The first error is the one to tell.
            with suppress(AutoSyncLabError):
                end("failed", error=str(error))
            raise
        except BaseException:
            with suppress(AutoSyncLabError):
                session.emit("stopped", {"reason": "interrupt"})
                end("stopped")
            raise


def _default_space(model: ModelSpec, cluster: ClusterSpec, lossy: bool) -> StrategySpace:
    return StrategySpace(model, cluster, lossy=lossy).constrain(DEFAULT_CONSTRAINTS)


def _name_of(given: Any, otherwise: str) -> str:
    if given is None:
        return otherwise
    if isinstance(given, str):
        return given
    name = getattr(given, "name", None)
    return name if isinstance(name, str) else str(getattr(given, "__name__", type(given).__name__))


def _whole(where: str, value: Any, least: int, below: int = 2**31) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < below:
        raise InvalidInput(f"a whole number of {least} or more", where=where, received=value)
