"""The results of an Explorer as an HTML table, and failures with their logs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from autosync_widgets.colours import Look, look_of
from autosync_widgets.explorer_state import Phase, TrialState
from autosync_widgets.marker import marker_svg
from autosync_widgets.wording import seconds_text


@dataclass(frozen=True)
class ResultRow:
    """One strategy on one model and cluster: its timed steps taken together.

    Parameters
    ----------
    label : str
    look : Look
    lossy : bool
    phase : str
        Of its latest trial.
    steps : int
        Timed steps of all its trials.
    step_time_s, low_s, high_s : float
        Median, 25th and 75th percentile, seconds; NaN without a step.
    bound_s : float
        Bandwidth bound of the same semantics.
    setup_s : float
        Seconds of its latest trial that were not steps; NaN until it has ended.
    fastest : bool
        True for the lowest step time among the strategies of the same semantics, once two or more of them are measured.
    """

    label: str
    look: Look
    lossy: bool
    phase: Phase
    steps: int
    step_time_s: float
    low_s: float
    high_s: float
    bound_s: float
    setup_s: float
    fastest: bool = False

    @property
    def over_bound(self) -> float:
        """Step time as a multiple of the bound; NaN where links limit nothing."""
        return self.step_time_s / self.bound_s if 0 < self.bound_s < math.inf else math.nan


def result_rows(trials: Iterable[TrialState]) -> tuple[ResultRow, ...]:
    """One row per strategy, in the order in which they were first launched."""
    groups: dict[tuple[str, str], list[TrialState]] = {}
    for trial in trials:
        groups.setdefault((trial.request.label, trial.request.strategy.id), []).append(trial)
    rows = [_row(members) for members in groups.values()]
    winners = set()
    for lossy in (False, True):
        rivals = [i for i, r in enumerate(rows) if r.lossy is lossy and r.phase == "ok"]
        if len(rivals) > 1:
            winners.add(min(rivals, key=lambda i: rows[i].step_time_s))
    return tuple(replace(row, fastest=True) if i in winners else row for i, row in enumerate(rows))


def _row(members: Sequence[TrialState]) -> ResultRow:
    last = members[-1]
    request = last.request
    times = [t for trial in members for t in trial.step_times_s]
    low, middle, high = np.percentile(times, [25, 50, 75]).tolist() if times else [math.nan] * 3
    return ResultRow(
        label=request.label,
        look=look_of(request.label, request.strategy),
        lossy=not request.strategy.lossless,
        phase=last.phase,
        steps=len(times),
        step_time_s=middle,
        low_s=low,
        high_s=high,
        bound_s=request.bound_s,
        setup_s=last.trial.setup_s if last.trial is not None and last.phase == "ok" else math.nan,
    )


_COLUMNS = (
    ("Strategy", "Its marker is the one in the figure."),
    ("State", "What its latest trial is doing, or how it ended."),
    ("Step time", "Seconds of one training step: the slowest worker, then the median over timed steps."),
    ("Middle half", "Half of the timed steps lie between these two."),
    ("Over bound", "Step time as a multiple of what the links allow at best for the same training results."),
    ("Steps", "Timed steps, all trials together."),
    ("Set-up", "Seconds of the latest trial that were not steps: building and warming up."),
)
_PHASE_WORDS = {"queued": "queued", "running": "running", "ok": "measured", "failed": "failed", "stopped": "stopped"}


def results_html(rows: Sequence[ResultRow], title: str) -> str:
    """The table; a sentence where there are no rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col" title="{escape(why)}"{_side(name)}>{escape(name)}</th>' for name, why in _COLUMNS)
    body = "".join(_row_html(row) for row in rows)
    return (
        f'<table class="autosync-results"><caption>{escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _row_html(row: ResultRow) -> str:
    badges = ' <span class="autosync-badge">lossy</span>' if row.lossy else ""
    if row.fastest:
        badges += f' <span class="autosync-badge autosync-fastest">fastest{" lossy" if row.lossy else ""}</span>'
    spread = f"{seconds_text(row.low_s)} to {seconds_text(row.high_s)}" if row.steps else "—"
    over = "—" if math.isnan(row.over_bound) else f"{row.over_bound:.2f}x"
    cells = (seconds_text(row.step_time_s), spread, over, str(row.steps), seconds_text(row.setup_s))
    return (
        f'<tr class="autosync-{row.phase}"><th scope="row">{marker_svg(row.look)}'
        f"<span>{escape(row.label)}</span>{badges}</th>"
        f"<td>{_PHASE_WORDS[row.phase]}</td>{''.join(f'<td class=autosync-number>{c}</td>' for c in cells)}</tr>"
    )


def _side(name: str) -> str:
    return "" if name in ("Strategy", "State") else ' class="autosync-number"'


def failure_html(trial: TrialState) -> str:
    """A failed trial: its stage and reason, and the end of its log behind a fold."""
    stage = f" in stage {escape(trial.stage)}" if trial.stage else ""
    code = ""
    if trial.trial is not None and trial.trial.exit_code is not None:
        code = f" (exit code {trial.trial.exit_code})"
    reason = f"<b>{escape(trial.request.label)}</b> failed{stage}: {escape(trial.error)}{code}"
    return log_html(reason, trial.stderr_tail, "autosync-failure")


def notice_html(text: str, log: str) -> str:
    """Something the user must know, with a log behind a fold if there is one."""
    return log_html(escape(text), log, "autosync-notice") if text else ""


def log_html(sentence_html: str, log: str, css_class: str) -> str:
    """A sentence (HTML), and a log (text) behind a fold."""
    if not log.strip():
        return f'<div class="{css_class}" role="alert">{sentence_html}</div>'
    return (
        f'<details class="{css_class}" role="alert"><summary>{sentence_html} '
        f'<span class="autosync-more">Log</span></summary><pre tabindex="0">{escape(log)}</pre></details>'
    )
