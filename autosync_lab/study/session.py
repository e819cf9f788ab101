"""`Session`: measures strategies for a study, and writes down what happens as it happens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Progress
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study import history
from autosync_lab.study.control import Control, Stopped
from autosync_lab.study.event import EventKind, StudyEvent
from autosync_lab.study.failures import MOST_IN_A_ROW, TrialsFailing
from autosync_lab.study.history import Role, Round, StudyTrial
from autosync_lab.study.measures import Measures
from autosync_lab.study.study_store import Happening, StudyStore


@dataclass
class Session:
    """One run of a study, from its start to its end.

    Parameters
    ----------
    store : StudyStore
    study : str
    model : ModelSpec
    steps, warmup : int
    control : Control
    on_event : callable or None
        Gets every event once it is stored.
    on_progress : callable or None
        Gets the progress of every trial.

    Attributes
    ----------
    records : list of StudyTrial
        All trials of the study so far.
    proposals : dict of str to StudyTrial
        Those of measured proposals, by the strategy's id.
    """

    store: StudyStore
    study: str
    model: ModelSpec
    steps: int
    warmup: int
    control: Control
    on_event: Callable[[StudyEvent], None] | None
    on_progress: Callable[[Progress], None] | None

    def __post_init__(self) -> None:
        self.records: list[StudyTrial] = self.store.records(self.study)
        self.proposals: dict[str, StudyTrial] = {}
        for record in self.records:
            self._index(record)
        self._failed_in_a_row = 0
        self._runner: Measures | None = None

    def measures_with(self, runner: Measures) -> None:
        """What trials are measured with from now on."""
        self._runner = runner
        self.control.measures_with(runner)

    def emit(self, kind: EventKind, data: dict[str, Any]) -> None:
        """Store an event and pass it on."""
        self._pass_on(self.store.add_event(self.study, (kind, data)))

    def add_round(self, round_: Round, skipped: int) -> None:
        """Write down what was proposed."""
        proposals = [{"strategy": p.strategy.id, "predicted_s": p.predicted_s} for p in round_.proposals]
        data = {"round": round_.number, "asks": list(round_.asks), "skipped": skipped, "proposals": proposals}
        self._pass_on(self.store.add_round(self.study, round_, ("proposal-round", data)))

    def measure(
        self, strategy: Strategy, label: str, role: Role, round_: int = 0, predicted_s: float = float("nan")
    ) -> Trial:
        """Measure a strategy, once it is this session's turn.

        Raises
        ------
        Stopped
            If the run was asked to stop.
        TrialsFailing
            If this is one failure too many.
        """
        assert self._runner is not None
        self.control.checkpoint(lambda: self.emit("paused", {}), lambda: self.emit("resumed", {}))
        about = {"role": role, "round": round_, "label": label, "strategy": strategy.id}
        self.emit("trial-started", about)
        trial = self._runner.measure(
            self.model, strategy, steps=self.steps, warmup=self.warmup, label=label, on_progress=self._progress
        )
        self._keep(trial, role, round_, predicted_s, about)
        if trial.status == "stopped":
            raise Stopped
        self._failed_in_a_row = self._failed_in_a_row + 1 if trial.status == "failed" else 0
        if self._failed_in_a_row == MOST_IN_A_ROW:
            raise TrialsFailing(MOST_IN_A_ROW, trial)
        return trial

    def _keep(self, trial: Trial, role: Role, round_: int, predicted_s: float, about: dict[str, Any]) -> None:
        times = {"trial": trial.id, "step_time_s": trial.step_time_s}
        happenings: list[Happening] = [
            ("trial-ended", about | times | {"status": trial.status, "simulated": trial.simulated})
        ]
        if trial.status == "failed":
            why = {"label": trial.label, "strategy": about["strategy"], "stage": trial.stage, "error": trial.error}
            happenings.append(("failed", {"trial": trial.id} | why))
        if role == "baseline" and trial.status != "stopped":
            happenings.append(("baseline", times | {"label": trial.label}))
        if role == "anchor" and trial.status != "stopped":
            first = history.anchor(self.records)
            ratio = trial.step_time_s / first.trial.step_time_s if first else float("nan")
            happenings.append(("anchor", times | {"label": trial.label, "ratio": ratio}))
        number, events = self.store.add_trial(self.study, role, round_, trial, happenings)
        self.records.append(StudyTrial(number, role, round_, trial, predicted_s))
        self._index(self.records[-1])
        for event in events:
            self._pass_on(event)

    def _index(self, record: StudyTrial) -> None:
        if record.role == "proposal" and record.measured and record.trial.strategy is not None:
            self.proposals[record.trial.strategy.id] = record

    def _progress(self, progress: Progress) -> None:
        self.control.cancel_if_stopping()
        if self.on_progress is not None:
            self.on_progress(progress)

    def _pass_on(self, event: StudyEvent) -> None:
        if self.on_event is None:
            return
        try:
            self.on_event(event)
        except BaseException:
            # It ends the run; what is written down of that must not call it again.
            self.on_event = None
            raise
