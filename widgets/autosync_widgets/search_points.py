"""`SearchPoint`: one trial of a study as figures need it, with what was known once it had ended."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from autosync_lab.runtime.trial import Status
from autosync_lab.simulator.ranking import ranking_accuracy
from autosync_lab.strategy.spec import AllReduce, Strategy
from autosync_lab.study.history import Role, StudyTrial
from autosync_widgets.colours import ALL_REDUCE, MIXED, OWN, SERVER, Look, look_of
from autosync_widgets.wording import seconds_text

ACCURACY_WINDOW = 40
"""Ranking accuracy is that of this many newest predictions: enough pairs to mean something, few enough to show that a
simulator learns."""

DIGITS = 7
"""Of seconds that are drawn: more would only be sent."""

KINDS = {
    "parameter server": Look(SERVER, "circle"),
    "all-reduce": Look(ALL_REDUCE, "diamond"),
    "both, by variable": Look(MIXED, "square"),
}
"""How gradients travel, with the look of strategies that were found by a search."""


@dataclass(frozen=True, slots=True)
class SearchPoint:
    """One trial of a study that has ended.

    Parameters
    ----------
    number : int
        From 1, in the order in which the trials ended.
    role : str
        baseline, proposal, anchor or final.
    label, strategy_id : str
    kind : str
        One of `KINDS`.
    look : Look
        A builder's for its baseline, that of its kind for a strategy found; hollow if training results change.
    lossy : bool
        True if training results change.
    status : str
        ok, failed or stopped.
    step_time_s, predicted_s, bound_s : float
        Seconds, to a tenth of a microsecond; NaN where there is none.
    simulated : bool
        True if a simulator produced the step time.
    best_s : float
        Least step time of all baselines and proposals up to this one; NaN before the first.
    accuracy : float
        Share of pairs of the newest `ACCURACY_WINDOW` predicted trials, up to this one, whose order was predicted
        right; NaN where this one was not predicted, or no pair has an order.
    caption : str
        All that in words, as HTML.
    """

    number: int
    role: Role
    label: str
    strategy_id: str
    kind: str
    look: Look
    lossy: bool
    status: Status
    step_time_s: float
    predicted_s: float
    bound_s: float
    simulated: bool
    best_s: float
    accuracy: float
    caption: str

    @property
    def predicted(self) -> bool:
        """True if there is a prediction to compare with a step time."""
        return not math.isnan(self.predicted_s) and not math.isnan(self.step_time_s)

    @property
    def name(self) -> str:
        """What tells it from other trials: a builder's name, or the search's label and the trial's number."""
        return trial_name(self.role, self.label, self.number)


def extended(points: Sequence[SearchPoint], records: Iterable[StudyTrial]) -> tuple[SearchPoint, ...]:
    """The points of some trials and of those that came after them.

    Parameters
    ----------
    points : sequence of SearchPoint
    records : iterable of StudyTrial
        Only those that are new.
    """
    best_s = points[-1].best_s if points else math.nan
    newest: deque[tuple[float, float]] = deque(maxlen=ACCURACY_WINDOW)
    for point in reversed(points):
        if point.predicted:
            newest.appendleft((point.predicted_s, point.step_time_s))
            if len(newest) == ACCURACY_WINDOW:
                break
    added = []
    for record in records:
        trial = record.trial
        seconds = round(trial.step_time_s, DIGITS) if record.ok else math.nan
        predicted_s = round(record.predicted_s, DIGITS)
        if record.role in ("baseline", "proposal"):
            best_s = float(np.fmin(best_s, seconds))
        accuracy = math.nan
        if not math.isnan(predicted_s) and not math.isnan(seconds):
            newest.append((predicted_s, seconds))
            accuracy = ranking_accuracy(*np.asarray(newest).T)
        kind = kind_of(trial.strategy)
        lossy = trial.strategy is not None and not trial.strategy.lossless
        look = look_of(trial.label, trial.strategy)
        if record.role == "proposal" or look.colour == OWN:
            look = KINDS[kind].hollow() if lossy else KINDS[kind]
        added.append(
            SearchPoint(
                record.number,
                record.role,
                trial.label,
                trial.strategy_id or "",
                kind,
                look,
                lossy,
                trial.status,
                seconds,
                predicted_s,
                trial.bound_s,
                trial.simulated,
                best_s,
                accuracy,
                _caption(record, seconds, f"{kind}{', lossy' if lossy else ''}"),
            )
        )
    return (*points, *added)


def trial_name(role: str, label: str, number: int) -> str:
    """What tells a trial from others: a builder's name, or the search's label and the trial's number."""
    return f"{label} #{number}" if role == "proposal" else label


def kind_of(strategy: Strategy | None) -> str:
    """How a strategy's gradients travel: one of `KINDS`; a peer that decides by itself counts as all-reduce."""
    if strategy is None:
        return "all-reduce"
    reduced = {isinstance(shard, AllReduce) for variable in strategy.variables for shard in variable.shards}
    if len(reduced) == 2:
        return "both, by variable"
    return "all-reduce" if reduced == {True} else "parameter server"


def _caption(record: StudyTrial, seconds: float, kind: str) -> str:
    trial = record.trial
    found = [escape(trial_name(record.role, trial.label, record.number))]
    if math.isnan(seconds):
        found.append(f"{trial.status} ({trial.stage})" if trial.stage else trial.status)
    else:
        found.append(f"{seconds_text(seconds)} {'simulated' if trial.simulated else 'measured'}")
    if not math.isnan(record.predicted_s):
        found.append(f"{seconds_text(record.predicted_s)} predicted")
    return "<br>".join([*found, kind])
