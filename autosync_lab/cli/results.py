"""What was measured, strategy by strategy: as a table, as JSON, and the failures with their logs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autosync_lab.cli.output import megabytes, print_table, seconds, times

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.model import ModelSpec
    from autosync_lab.runtime import Trial
    from autosync_lab.study.summary import StrategySummary


@dataclass(frozen=True)
class Result:
    """One strategy's trials taken together, and the bandwidth bound of what this very strategy sends.

    `own_bound_s` is NaN for a peer, which decides by itself what it sends.
    """

    name: str
    summary: "StrategySummary"
    own_bound_s: float

    @property
    def over_own_bound(self) -> float:
        """Step time as a multiple of `own_bound_s`; NaN where there is no bound above 0."""
        from autosync_lab.study.summary import ratio

        return ratio(self.summary.step_time_s, self.own_bound_s)

    @property
    def busiest_bytes(self) -> float:
        """Bytes that the busiest node sent per step; NaN where they were not counted."""
        return max(self.summary.bytes_sent.values()) if self.summary.bytes_sent else math.nan

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document."""
        row = self.summary
        return {
            "label": row.label,
            "strategy_id": row.strategy.id if row.strategy else None,
            "peer": row.is_peer,
            "lossy": row.lossy,
            "simulated": row.simulated,
            "trials": row.trials,
            "failed": row.failed,
            "timed_steps": row.timed_steps,
            "step_time_s": row.step_time_s,
            "step_time_q25_s": row.low_s,
            "step_time_q75_s": row.high_s,
            "bound_s": row.bound_s,
            "over_bound": row.over_bound,
            "own_bound_s": self.own_bound_s,
            "over_own_bound": self.over_own_bound,
            "bytes_sent": row.bytes_sent,
            "setup_s": row.setup_s,
        }


def results_of(trials: "Iterable[Trial]", model: "ModelSpec", cluster: "ClusterSpec") -> list[Result]:
    """Results in the order in which the strategies first appear."""
    from autosync_lab.strategy import link_time_s
    from autosync_lab.study.summary import distinct_names, summarize

    rows = summarize(trials)
    return [
        Result(name, row, link_time_s(model, cluster, row.strategy) if row.strategy else math.nan)
        for name, row in zip(distinct_names(rows), rows, strict=True)
    ]


def print_results(results: Sequence[Result], title: str) -> None:
    """Write the table of results to stdout; `MB sent` is what the busiest node sends per step."""
    print_table(
        ("strategy", "step time", "25-75 %", "x own bound", "x bound", "MB sent", "set-up"),
        [
            (
                name_with_notes(result),
                seconds(result.summary.step_time_s),
                spread(result.summary),
                times(result.over_own_bound),
                times(result.summary.over_bound),
                megabytes(result.busiest_bytes),
                seconds(result.summary.setup_s),
            )
            for result in results
        ],
        title=title,
    )


def name_with_notes(result: Result) -> str:
    """A strategy's name, with what a reader must know before comparing it."""
    row = result.summary
    notes = []
    if row.is_peer:
        notes.append("peer")
    if row.lossy:
        notes.append("lossy")
    if row.failure is not None:
        notes.append(f"{row.failed} of {row.trials} failed: {row.failure.stage}")
    return f"{result.name} ({', '.join(notes)})" if notes else result.name


def spread(row: "StrategySummary") -> str:
    """25th to 75th percentile of the step time: 480-520 ms."""
    if math.isnan(row.low_s):
        return "-"
    low, high = seconds(row.low_s).split(), seconds(row.high_s).split()
    return f"{low[0]}-{' '.join(high)}" if low[1] == high[1] else f"{' '.join(low)}-{' '.join(high)}"


def print_failures(trials: "Iterable[Trial]") -> None:
    """Write every failed trial with its stage, error and the end of its log to stdout."""
    for trial in trials:
        if trial.status != "failed":
            continue
        code = f", exit code {trial.exit_code}" if trial.exit_code is not None else ""
        print(f"\n{trial.label} failed (stage: {trial.stage}{code}): {trial.error}")
        for line in trial.stderr_tail.splitlines():
            print(f"    {line}")


def document(trials: "Sequence[Trial]", results: Sequence[Result], store: str | None) -> dict[str, Any]:
    """The JSON document of a run."""
    return {
        "store": store,
        "results": [result.to_json() for result in results],
        "trials": [trial.to_json() for trial in trials],
    }
