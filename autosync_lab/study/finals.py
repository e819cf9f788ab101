"""Which strategies a study measures again at its end, in which order, and what follows."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np

from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.history import StudyTrial
from autosync_lab.study.speedup import CONFIDENCE, Speedup, bootstrap_ratio

BEST_FOUND = 3
BEST_BASELINES = 2


@dataclass(frozen=True)
class Finalist:
    """A strategy that is measured again."""

    label: str
    strategy: Strategy
    baseline: bool


def finalists(records: Iterable[StudyTrial]) -> tuple[Finalist, ...]:
    """The fastest strategies found, then the fastest baselines; empty if there is none of either."""
    records = sorted((r for r in records if r.ok), key=lambda r: (r.trial.step_time_s, r.number))
    found = [r for r in records if r.role == "proposal"][:BEST_FOUND]
    baselines = [r for r in records if r.role == "baseline"][:BEST_BASELINES]
    if not found or not baselines:
        return ()
    return tuple(
        Finalist(r.trial.label, r.trial.strategy, r.role == "baseline")
        for r in (*found, *baselines)
        if r.trial.strategy is not None
    )


def turn_order(count: int, seed: int, confirm: int, turn: int) -> tuple[int, ...]:
    """In which order the finalists run in one turn: at random, so that no one always follows the same other one."""
    return tuple(np.random.default_rng([seed, confirm, turn]).permutation(count).tolist())


def speedup(contenders: Iterable[Finalist], finals: Iterable[StudyTrial], seed: int) -> Speedup | None:
    """The fastest strategy found over the fastest baseline, by the median of their finals.

    Both are chosen by the times that they are then compared by; as that is so on both sides, it favours neither by
    much.

    Returns
    -------
    Speedup or None
        None if no trial of either kind succeeded.
    """
    finals = [r for r in finals if r.ok]
    found: list[tuple[Finalist, list[StudyTrial]]] = []
    baselines: list[tuple[Finalist, list[StudyTrial]]] = []
    for finalist in contenders:
        own = [r for r in finals if r.trial.strategy_id == finalist.strategy.id]
        if own:
            (baselines if finalist.baseline else found).append((finalist, own))
    if not found or not baselines:
        return None
    (best, of_best), (base, of_base) = min(found, key=_median), min(baselines, key=_median)
    best_s = tuple(r.trial.step_time_s for r in of_best)
    base_s = tuple(r.trial.step_time_s for r in of_base)
    ratio, low, high = bootstrap_ratio(base_s, best_s, seed)
    return Speedup(
        best.label,
        best.strategy.id,
        base.label,
        base.strategy.id,
        ratio,
        low,
        high,
        CONFIDENCE,
        best_s,
        base_s,
        simulated=any(r.trial.simulated for r in (*of_best, *of_base)),
    )


def _median(of: tuple[Finalist, list[StudyTrial]]) -> float:
    return median(r.trial.step_time_s for r in of[1])
