"""Trials of one strategy taken together: what tables and figures show as one row or bar."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.spec import Strategy


@dataclass(frozen=True)
class StrategySummary:
    """All trials of one strategy on one model and cluster.

    Parameters
    ----------
    label : str
    strategy : Strategy or None
        None for a peer, which decides by itself.
    trials, failed : int
        Number of trials, and of those that failed.
    timed_steps : int
        Timed steps of all successful trials, which are pooled.
    step_time_s, low_s, high_s : float
        Median, 25th and 75th percentile over the pooled steps of the max over workers; NaN if no trial succeeded.
    bound_s : float
        Bandwidth bound of the model on the cluster for the same semantics.
    setup_s : float
        Median over trials; NaN if none succeeded.
    bytes_sent : dict of str to float, or None
        Per timed step and node, mean over trials; None where they were not counted.
    simulated : bool
        True if a simulator produced the times.
    failure : Trial or None
        The last failed trial.
    """

    label: str
    strategy: Strategy | None
    trials: int
    failed: int
    timed_steps: int
    step_time_s: float
    low_s: float
    high_s: float
    bound_s: float
    setup_s: float
    bytes_sent: dict[str, float] | None
    simulated: bool
    failure: Trial | None

    @property
    def is_peer(self) -> bool:
        """True for a system that decides by itself how gradients travel."""
        return self.strategy is None

    @property
    def lossy(self) -> bool:
        """True if the strategy changes what training computes; peers run with lossless settings."""
        return self.strategy is not None and not self.strategy.lossless

    @property
    def over_bound(self) -> float:
        """Step time as a multiple of `bound_s`; NaN where there is no bound above 0."""
        return ratio(self.step_time_s, self.bound_s)


def summarize(trials: Iterable[Trial]) -> tuple[StrategySummary, ...]:
    """Take the trials of each strategy together, in the order in which the strategies first appear.

    Trials belong together if label, strategy, model, cluster and origin (measured or simulated) are equal. Stopped
    trials count as trials, but add no times.
    """
    together: dict[tuple[str | bool | None, ...], list[Trial]] = {}
    for trial in trials:
        key = (trial.label, trial.strategy_id, trial.model_hash, trial.cluster_hash, trial.simulated)
        together.setdefault(key, []).append(trial)
    return tuple(_summary(group) for group in together.values())


def distinct_names(rows: Iterable[StrategySummary]) -> tuple[str, ...]:
    """A name per row for a table or an axis: its label, with the strategy's id where a label occurs twice."""
    rows = list(rows)
    labels = [(row.label, row.simulated) for row in rows]
    names = []
    for row in rows:
        name = row.label
        if row.strategy is not None and labels.count((row.label, row.simulated)) > 1:
            name += f" {row.strategy.id}"
        names.append(f"{name} (simulated)" if row.simulated else name)
    return tuple(names)


def ratio(seconds: float, bound_s: float) -> float:
    """`seconds` as a multiple of a bound; NaN where the bound is 0, infinite or unknown."""
    return seconds / bound_s if 0 < bound_s < math.inf else math.nan


def _summary(trials: list[Trial]) -> StrategySummary:
    ok = [t for t in trials if t.status == "ok"]
    failed = [t for t in trials if t.status == "failed"]
    times = [max(workers) for t in ok for workers in t.step_times_s]
    low, middle, high = np.percentile(times, [25, 50, 75]).tolist() if times else [math.nan] * 3
    return StrategySummary(
        label=trials[0].label,
        strategy=trials[0].strategy,
        trials=len(trials),
        failed=len(failed),
        timed_steps=len(times),
        step_time_s=middle,
        low_s=low,
        high_s=high,
        bound_s=trials[0].bound_s,
        setup_s=median(t.setup_s for t in ok) if ok else math.nan,
        bytes_sent=_mean_bytes([t.bytes_sent for t in ok if t.bytes_sent is not None]),
        simulated=trials[0].simulated,
        failure=failed[-1] if failed else None,
    )


def _mean_bytes(counts: list[dict[str, float]]) -> dict[str, float] | None:
    return {node: fmean(count[node] for count in counts) for node in counts[0]} if counts else None
