"""What an Explorer knows, and how each event changes it: pure data, no widget, no thread, no clock.

`advance` is the only way from one state to the next; everything that is shown is computed from a state.
"""

from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal

from autosync_lab.runtime.trial import Trial
from autosync_widgets.trial_request import TrialRequest
from autosync_widgets.wording import duration_text

Phase = Literal["queued", "running", "ok", "failed", "stopped"]
ClusterPhase = Literal["closed", "starting", "up"]

STAGE_SHARES = {"start": 0.0, "model": 0.0, "build": 0.1, "warm-up": 0.2, "steps": 0.3, "collect": 1.0}
"""Share of a trial that is done when a stage begins, for the progress bar; timed steps fill the rest evenly."""


@dataclass(frozen=True)
class TrialState:
    """One trial that was asked for.

    Parameters
    ----------
    request : TrialRequest
    phase : str
        queued, running, ok, failed or stopped.
    stage : str
        The stage it is in, or ended in.
    step_times_s : tuple of float
        Time of each timed step so far (max over workers), seconds.
    started_s : float, optional
        When its own work started: the cluster is up and the model is traced and sent.
    trial : Trial, optional
        Its record, once it has ended.
    error, stderr_tail : str
        Why it failed, and the end of the log.
    """

    request: TrialRequest
    phase: Phase = "queued"
    stage: str = ""
    step_times_s: tuple[float, ...] = ()
    started_s: float | None = None
    trial: Trial | None = None
    error: str = ""
    stderr_tail: str = ""

    @property
    def ended(self) -> bool:
        """True if nothing more will happen to it."""
        return self.phase in ("ok", "failed", "stopped")


@dataclass(frozen=True)
class Notice:
    """Something the user must know: a sentence, and the end of a log if there is one."""

    text: str
    log: str = ""


@dataclass(frozen=True)
class ExplorerState:
    """Everything an Explorer shows.

    Parameters
    ----------
    trials : tuple of TrialState
        In the order they were asked for; the request's key is the position.
    launch_begin : int
        Position of the first trial of the latest launch.
    cluster : str
        Name of the cluster that is open or starting; empty if none is.
    cluster_phase : str
        closed, starting or up.
    stopping : bool
        True from a stop until the running trial has ended.
    notice : Notice, optional
    """

    trials: tuple[TrialState, ...] = ()
    launch_begin: int = 0
    cluster: str = ""
    cluster_phase: ClusterPhase = "closed"
    stopping: bool = False
    notice: Notice | None = None

    @property
    def launch(self) -> tuple[TrialState, ...]:
        """Trials of the latest launch."""
        return self.trials[self.launch_begin :]

    @property
    def busy(self) -> bool:
        """True while a trial is queued or running."""
        return any(not t.ended for t in self.launch)

    @property
    def shown(self) -> tuple[TrialState, ...]:
        """Trials that can be compared with the latest launch: same model, same cluster."""
        if not self.trials:
            return ()
        latest = self.trials[-1].request
        model, cluster = latest.model.hash, latest.cluster.hash
        return tuple(t for t in self.trials if t.request.model.hash == model and t.request.cluster.hash == cluster)


@dataclass(frozen=True)
class Launched:
    """The user launched trials; their keys go on from the last one."""

    requests: tuple[TrialRequest, ...]


@dataclass(frozen=True)
class ClusterStarting:
    """A cluster's processes are being started."""

    name: str


@dataclass(frozen=True)
class ClusterUp:
    """A cluster's pool is warm."""

    name: str


@dataclass(frozen=True)
class ClusterClosed:
    """The pool has ended."""


@dataclass(frozen=True)
class ClusterLost:
    """A cluster could not be started, or its pool is gone; what was still queued is dropped."""

    name: str
    error: str
    stage: str
    stderr_tail: str = ""


@dataclass(frozen=True)
class TrialStarted:
    """A trial left the queue."""

    key: int


@dataclass(frozen=True)
class TrialProgressed:
    """A trial entered a stage or timed a step (seconds)."""

    key: int
    stage: str
    step_time_s: float | None = None


@dataclass(frozen=True)
class TrialEnded:
    """A trial's record is there."""

    key: int
    trial: Trial


@dataclass(frozen=True)
class TrialRefused:
    """A trial was not run: its input breaks a rule, or nobody foresaw the error (`log` is its traceback)."""

    key: int
    error: str
    log: str = ""


@dataclass(frozen=True)
class StopAsked:
    """The user wants the running trial and the queue to end."""


@dataclass(frozen=True)
class QueueDropped:
    """Trials that were still queued will not run."""


@dataclass(frozen=True)
class Noticed:
    """Something happened that is no trial's fault."""

    text: str
    log: str = ""


@dataclass(frozen=True)
class Cleared:
    """The user wants to start with an empty figure."""


Event = (
    Launched
    | ClusterStarting
    | ClusterUp
    | ClusterClosed
    | ClusterLost
    | TrialStarted
    | TrialProgressed
    | TrialEnded
    | TrialRefused
    | StopAsked
    | QueueDropped
    | Noticed
    | Cleared
)


def advance(state: ExplorerState, event: Event, now_s: float) -> ExplorerState:
    """The state after an event.

    Parameters
    ----------
    state : ExplorerState
    event : Event
    now_s : float
        Seconds on any steady clock.
    """
    match event:
        case Launched(requests):
            return replace(
                state,
                trials=state.trials + tuple(TrialState(r) for r in requests),
                launch_begin=len(state.trials),
                stopping=False,
                notice=None,
            )
        case ClusterStarting(name):
            return replace(state, cluster=name, cluster_phase="starting")
        case ClusterUp(name):
            return replace(state, cluster=name, cluster_phase="up")
        case ClusterClosed():
            return replace(state, cluster="", cluster_phase="closed")
        case ClusterLost(name, error, stage, stderr_tail):
            notice = Notice(f"Cluster {name} is not available (stage: {stage}): {error}", stderr_tail)
            return replace(_dropped(state), cluster="", cluster_phase="closed", notice=notice)
        case TrialStarted(key):
            return _changed(state, key, phase="running", stage="start")
        case TrialProgressed(key, stage, step_time_s):
            if state.trials[key].phase != "running":
                return state
            before = state.trials[key]
            times = before.step_times_s if step_time_s is None else (*before.step_times_s, step_time_s)
            # Like `Trial.total_s`, this leaves out what only the first trial with a model pays for.
            started_s = now_s if before.started_s is None and stage == "build" else before.started_s
            return _changed(state, key, stage=stage, step_times_s=times, started_s=started_s)
        case TrialEnded(key, trial):
            changed = _changed(
                state,
                key,
                phase=trial.status,
                stage=trial.stage,
                step_times_s=tuple(max(row) for row in trial.step_times_s),
                trial=trial,
                error=trial.error,
                stderr_tail=trial.stderr_tail,
            )
            return changed if changed.busy else replace(changed, stopping=False)
        case TrialRefused(key, error, log):
            return _changed(state, key, phase="failed", error=error, stderr_tail=log)
        case StopAsked():
            return replace(state, stopping=state.busy)
        case QueueDropped():
            return _dropped(state)
        case Noticed(text, log):
            return replace(state, notice=Notice(text, log))
        case Cleared():
            return state if state.busy else replace(state, trials=(), launch_begin=0, notice=None)


def _changed(state: ExplorerState, key: int, **fields: object) -> ExplorerState:
    trial = replace(state.trials[key], **fields)  # type: ignore[arg-type]  # the callers above name fields of TrialState
    return replace(state, trials=(*state.trials[:key], trial, *state.trials[key + 1 :]))


def _dropped(state: ExplorerState) -> ExplorerState:
    trials = tuple(t if t.ended else replace(t, phase="stopped") for t in state.trials)
    return replace(state, trials=trials, stopping=False)


@dataclass(frozen=True)
class LaunchProgress:
    """How far the latest launch is: share in [0, 1], seconds left (None if unknown), and the same in words."""

    share: float
    left_s: float | None
    text: str


def launch_progress(state: ExplorerState, now_s: float) -> LaunchProgress:
    """Progress of the latest launch."""
    launch = state.launch
    if not launch:
        return LaunchProgress(0.0, None, "Nothing launched yet.")
    share = fmean(_share(t) for t in launch)
    if not state.busy:
        return LaunchProgress(share, 0.0, _ending(launch))
    left_s = _seconds_left(launch, now_s)
    return LaunchProgress(share, left_s, _present(state, left_s))


def _share(trial: TrialState) -> float:
    if trial.phase in ("ok", "failed"):
        return 1.0
    begin = STAGE_SHARES.get(trial.stage, 0.0)
    if trial.stage != "steps":
        return begin
    return begin + (1.0 - begin) * min(1.0, len(trial.step_times_s) / trial.request.steps)


def _seconds_left(launch: tuple[TrialState, ...], now_s: float) -> float | None:
    whole = [t.trial.total_s for t in launch if t.trial is not None and t.phase == "ok"]
    running = next((t for t in launch if t.phase == "running"), None)
    if running is not None and running.step_times_s and running.started_s is not None:
        steps_left = running.request.steps - len(running.step_times_s)
        running_left = max(0, steps_left) * fmean(running.step_times_s)
        whole = whole or [now_s - running.started_s + running_left]
    elif running is not None and running.started_s is not None and whole:
        running_left = max(0.0, median(whole) - (now_s - running.started_s))
    elif whole:
        running_left = 0.0
    else:
        return None
    return running_left + sum(t.phase == "queued" for t in launch) * median(whole)


def _present(state: ExplorerState, left_s: float | None) -> str:
    launch = state.launch
    if state.stopping:
        return "Stopping …"
    if state.cluster_phase == "starting":
        return f"Starting cluster {state.cluster} …"
    position, running = next(((i, t) for i, t in enumerate(launch, 1) if t.phase == "running"), (0, None))
    if running is None:
        return "Waiting for the next trial …"
    text = f"Trial {position} of {len(launch)} · {running.request.label} · "
    if running.stage == "steps":
        text += f"step {len(running.step_times_s)} of {running.request.steps}"
    else:
        text += _STAGE_WORDS.get(running.stage, running.stage)
    return text + (f" · about {duration_text(left_s)} left" if left_s is not None else "")


_STAGE_WORDS = {
    "start": "tracing the model (slow the first time)",
    "model": "sending the model to the workers",
    "build": "building the step",
    "warm-up": "warming up",
    "collect": "collecting results",
}


def _ending(launch: tuple[TrialState, ...]) -> str:
    counts = [(sum(t.phase == phase for t in launch), word) for phase, word in _ENDINGS]
    words = [f"{count} {word}" for count, word in counts if count]
    return f"Ended: {', '.join(words)}."


_ENDINGS: tuple[tuple[Phase, str], ...] = (("ok", "measured"), ("failed", "failed"), ("stopped", "stopped"))
