"""What a study has done so far, as plain data: rounds of proposals, and trials with their roles."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy

Role = Literal["baseline", "proposal", "anchor", "final"]

ROLES: tuple[Role, ...] = get_args(Role)

ANCHOR_EVERY = 10
"""Proposals between two measurements of the anchor."""


@dataclass(frozen=True)
class StudyTrial:
    """One trial of a study.

    Parameters
    ----------
    number : int
        From 1, in the order in which the trials ended.
    role : {"baseline", "proposal", "anchor", "final"}
    round : int
        Of a proposal: its round, from 0. Of a final: which `confirm` it is of, from 0. Else 0.
    trial : Trial
    predicted_s : float
        What the simulator said before the trial; NaN if it said nothing.
    """

    number: int
    role: Role
    round: int
    trial: Trial
    predicted_s: float = math.nan

    @property
    def measured(self) -> bool:
        """True unless the trial was stopped: then it says nothing about its strategy."""
        return self.trial.status != "stopped"

    @property
    def ok(self) -> bool:
        """True if there is a step time."""
        return self.trial.status == "ok" and not math.isnan(self.trial.step_time_s)


@dataclass(frozen=True)
class Proposal:
    """A strategy that the search proposed; `predicted_s` is NaN where no simulator said anything."""

    strategy: Strategy
    predicted_s: float = math.nan


@dataclass(frozen=True)
class Round:
    """What the search was asked for, ask by ask, and which strategies came of it that were not measured before."""

    number: int
    asks: tuple[int, ...]
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True)
class DriftPoint:
    """One measurement of the anchor; `ratio` is its step time over the first one's, above 1 where it was slower."""

    number: int
    step_time_s: float
    ratio: float


def measured_ids(records: Iterable[StudyTrial]) -> frozenset[str]:
    """Content ids of the strategies that need no measuring as proposals any more."""
    return frozenset(
        r.trial.strategy.id
        for r in records
        if r.measured and r.role in ("baseline", "proposal") and r.trial.strategy is not None
    )


def fastest(records: Iterable[StudyTrial]) -> StudyTrial | None:
    """The record with the least step time, the first of equal ones; None if there is none with a time."""
    return min((r for r in records if r.ok), key=lambda r: (r.trial.step_time_s, r.number), default=None)


def anchor(records: Iterable[StudyTrial]) -> StudyTrial | None:
    """The baseline that is measured again and again: the fastest one."""
    return fastest(r for r in records if r.role == "baseline")


def anchor_due(records: Iterable[StudyTrial]) -> bool:
    """True if so many proposals were measured that it is the anchor's turn."""
    records = [r for r in records if r.measured]
    proposals = sum(r.role == "proposal" for r in records)
    return sum(r.role == "anchor" for r in records) < proposals // ANCHOR_EVERY


def drift(records: Iterable[StudyTrial]) -> tuple[DriftPoint, ...]:
    """The anchor's times over the run, its first measurement first; empty if no baseline has a time."""
    records = list(records)
    first = anchor(records)
    if first is None:
        return ()
    again = [r for r in records if r.role == "anchor" and r.ok]
    begin_s = first.trial.step_time_s
    return tuple(
        DriftPoint(r.number, r.trial.step_time_s, r.trial.step_time_s / begin_s if begin_s > 0 else math.nan)
        for r in (first, *again)
    )


def best(records: Iterable[StudyTrial]) -> StudyTrial | None:
    """The fastest proposal or baseline."""
    return fastest(r for r in records if r.role in ("baseline", "proposal"))
