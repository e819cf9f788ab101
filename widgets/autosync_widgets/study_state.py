"""What is known of a study that one watches, and how events change it: pure data, no widget, no thread, no clock."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from statistics import fmean
from typing import Any

from autosync_lab.runtime.runner import Progress
from autosync_lab.study.event import StudyEvent
from autosync_lab.study.finals import BEST_BASELINES, BEST_FOUND
from autosync_lab.study.history import ANCHOR_EVERY, StudyTrial
from autosync_lab.study.speedup import Speedup
from autosync_lab.study.study import FINAL_REPEATS, State
from autosync_widgets.search_points import SearchPoint, extended
from autosync_widgets.wording import duration_text, plural

CLUSTER_STAGE = "cluster"
"""What the first trial of a run waits for."""

GAPS = 20
"""The time left follows from the time between the newest trials, this many of them."""


@dataclass(frozen=True)
class Plan:
    """What the newest run of a study was asked for.

    Parameters
    ----------
    n_trials : int
        Proposals in all.
    baselines : tuple of str
        Builders that can be measured.
    algorithm, simulator : str
    """

    n_trials: int
    baselines: tuple[str, ...]
    algorithm: str
    simulator: str


@dataclass(frozen=True)
class Queued:
    """A strategy that was proposed and not measured yet; `predicted_s` is NaN where no simulator said anything."""

    strategy_id: str
    predicted_s: float


@dataclass(frozen=True)
class Running:
    """The trial that runs; its stage and steps are known where the study runs in this kernel."""

    role: str
    label: str
    strategy_id: str
    stage: str = ""
    step: int = 0
    steps: int = 0


@dataclass(frozen=True)
class StudyState:
    """Everything that is shown of a study.

    Parameters
    ----------
    name, model, cluster : str
    phase : str
        As `Study.state`.
    plan : Plan, optional
        None before the first run.
    records : tuple of StudyTrial
    points : tuple of SearchPoint
        One for each record.
    queued : tuple of Queued
    running : Running, optional
    left_out : tuple of (label, why)
        Builders that have no strategy here.
    speedup : Speedup, optional
        What the newest repetition of the best ones found.
    confirmed : int
        Number of the last trial of that.
    exhausted : bool
        True if the search found nothing new to propose.
    error : str
        Why it failed.
    trouble : str
        Why it cannot be read now.
    ends_s : tuple of float
        When the newest trials of this run ended, seconds; a pause begins them anew.
    since : int
        Number of the newest event.
    """

    name: str
    model: str = ""
    cluster: str = ""
    phase: State = "new"
    plan: Plan | None = None
    records: tuple[StudyTrial, ...] = ()
    points: tuple[SearchPoint, ...] = ()
    queued: tuple[Queued, ...] = ()
    running: Running | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    speedup: Speedup | None = None
    confirmed: int = 0
    exhausted: bool = False
    error: str = ""
    trouble: str = ""
    ends_s: tuple[float, ...] = ()
    since: int = 0

    @property
    def busy(self) -> bool:
        """True while a run goes on, also if it is paused."""
        return self.phase in ("running", "paused")

    @property
    def simulated(self) -> bool:
        """True if a simulator produced the step times."""
        return any(p.simulated for p in self.points[-1:])

    @property
    def title(self) -> str:
        """What is searched."""
        return f"{self.model} on {self.cluster}"


def advance(
    state: StudyState,
    events: Iterable[StudyEvent],
    records: Sequence[StudyTrial],
    phase: State,
    progress: Progress | None = None,
) -> StudyState:
    """The state after some events.

    Parameters
    ----------
    state : StudyState
    events : iterable of StudyEvent
        Those after `state.since`.
    records : sequence of StudyTrial
        All of them.
    phase : str
        `Study.state`.
    progress : Progress, optional
        How far the trial that runs is, if that is known.
    """
    for event in events:
        state = replace(_after(state, event), since=event.number)
    new = records[len(state.records) :]
    if new:
        measured = {r.trial.strategy_id for r in new if r.measured}
        state = replace(
            state,
            records=tuple(records),
            points=extended(state.points, new),
            queued=tuple(q for q in state.queued if q.strategy_id not in measured),
        )
    running = state.running if phase in ("running", "paused") else None
    if running is not None and progress is not None:
        running = replace(running, stage=progress.stage, step=progress.step, steps=progress.steps)
    return replace(state, phase=phase, running=running, trouble="")


def _after(state: StudyState, event: StudyEvent) -> StudyState:
    data = event.data
    match event.kind:
        case "study-started":
            return replace(
                state,
                model=data.get("model", state.model),
                cluster=data.get("cluster", state.cluster),
                plan=_plan(data) or state.plan,
                running=None,
                error="",
                exhausted=False,
                ends_s=(),
            )
        case "baseline-left-out":
            return replace(state, left_out=(*state.left_out, (data["label"], data["why"])))
        case "proposal-round":
            queued = [Queued(p["strategy"], _number(p["predicted_s"])) for p in data["proposals"]]
            return replace(state, queued=(*state.queued, *queued))
        case "space-exhausted":
            return replace(state, exhausted=True)
        case "trial-started":
            return replace(state, running=Running(data["role"], data["label"], data["strategy"]))
        case "trial-ended":
            ends_s = (*state.ends_s, datetime.fromisoformat(event.time).timestamp())[-GAPS - 1 :]
            return replace(state, running=None, ends_s=ends_s)
        case "paused" | "resumed":
            return replace(state, running=None, ends_s=())
        case "confirmed":
            speedup = data.get("speedup")
            return replace(
                state,
                speedup=None if speedup is None else Speedup.from_json(speedup),
                confirmed=int(data.get("number", 0)),
            )
        case "study-ended":
            return replace(state, running=None, error=data.get("error", ""))
        case _:
            return state


def _plan(data: dict[str, Any]) -> Plan | None:
    if "n_trials" not in data:
        # Only the best ones are measured again.
        return None
    return Plan(data["n_trials"], tuple(data["baselines"]), data["algorithm"], data["simulator"])


def _number(value: float | None) -> float:
    return math.nan if value is None else value


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: share in [0, 1], seconds left (None if unknown), and the same in words."""

    share: float
    left_s: float | None
    text: str


def study_progress(state: StudyState) -> StudyProgress:
    """Progress of the newest run."""
    if state.plan is None:
        return StudyProgress(0.0, None, "Nothing measured yet." if not state.points else _counted(state))
    done, planned = _done(state), _planned(state)
    total = sum(planned.values())
    share = sum(min(done[role], planned[role]) for role in planned) / total if total else 1.0
    if not state.busy:
        ended = state.phase == "ended"
        return StudyProgress(1.0 if ended else share, 0.0 if ended else None, _ending(state))
    left = sum(max(0, planned[role] - done[role]) for role in planned)
    gaps = [b - a for a, b in pairwise(state.ends_s)]
    left_s = left * fmean(gaps) if gaps and state.phase == "running" else None
    return StudyProgress(share, left_s, _present(state, done, left_s))


def _done(state: StudyState) -> Counter[str]:
    done: Counter[str] = Counter(p.role for p in state.points if p.status != "stopped" and p.role != "final")
    done["final"] = sum(p.role == "final" and p.number > state.confirmed for p in state.points)
    return done


def _planned(state: StudyState) -> dict[str, int]:
    """Trials of each role that the newest run comes to."""
    plan = state.plan
    assert plan is not None
    left_out = {label for label, _ in state.left_out}
    # Once confirmed, only new proposals bring another turn.
    unconfirmed = any(p.role == "proposal" and p.number > state.confirmed for p in reversed(state.points))
    again = unconfirmed or plan.n_trials > sum(p.role == "proposal" for p in state.points)
    return {
        "baseline": sum(name not in left_out for name in plan.baselines),
        "proposal": plan.n_trials,
        "anchor": plan.n_trials // ANCHOR_EVERY,
        "final": FINAL_REPEATS * (BEST_FOUND + BEST_BASELINES) if again and plan.n_trials else 0,
    }


_ROLES = {
    "baseline": "baselines",
    "proposal": "proposals",
    "anchor": "the best baseline again, to see drift",
    "final": "the best ones again, in turns",
}
_STAGES = {
    CLUSTER_STAGE: "starting the cluster",
    "start": "tracing the model (slow the first time)",
    "model": "sending the model to the workers",
    "build": "building the step",
    "warm-up": "warming up",
    "collect": "collecting results",
}


def _present(state: StudyState, done: Counter[str], left_s: float | None) -> str:
    assert state.plan is not None
    if state.phase == "paused":
        return f"Paused after {plural(len(state.points), 'trial')}."
    running = state.running
    if running is None:
        return "Starting the cluster …" if not state.ends_s else "Choosing the next strategies …"
    text = _ROLES[running.role].capitalize()
    if running.role == "baseline":
        text = f"Baseline {running.label}"
    elif running.role == "proposal":
        text = f"Proposal {min(done['proposal'] + 1, state.plan.n_trials)} of {state.plan.n_trials}"
    if running.stage == "steps":
        text += f" · step {running.step} of {running.steps}"
    elif running.stage:
        text += f" · {_STAGES.get(running.stage, running.stage)}"
    return text + (f" · about {duration_text(left_s)} left" if left_s is not None else "")


def _ending(state: StudyState) -> str:
    first = {
        "ended": "Everything that the search proposes was measured" if state.exhausted else "Ended",
        "stopped": "Stopped; the next start goes on from here",
        "failed": "Failed",
        "interrupted": "Interrupted: its process has gone; the next start goes on from here",
    }.get(state.phase, state.phase)
    return f"{first}: {_counted(state)}"


def _counted(state: StudyState) -> str:
    ok = Counter(p.role for p in state.points if p.status == "ok")
    failed = sum(p.status == "failed" for p in state.points)
    words = [
        plural(ok["baseline"], "baseline"),
        plural(ok["proposal"], "proposal"),
        *([f"{ok['anchor'] + ok['final']:,} measured again"] if ok["anchor"] + ok["final"] else []),
        *([f"{failed:,} failed"] if failed else []),
    ]
    return f"{', '.join(words)}{' (simulated)' if state.simulated else ''}."
