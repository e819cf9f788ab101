"""What a study has found, as sentences and HTML tables."""

import math
from collections.abc import Iterable, Sequence
from html import escape

from autosync_lab.runtime.trial import Trial
from autosync_widgets.colours import Look
from autosync_widgets.marker import marker_svg
from autosync_widgets.results_table import log_html
from autosync_widgets.search_points import SearchPoint
from autosync_widgets.study_state import StudyState
from autosync_widgets.wording import plural, seconds_text

MOST_FOUND = 5
MOST_BASELINES = 3
MOST_LATEST = 8
MOST_QUEUED = 3
MOST_FAILURES = 10

_FASTEST = (
    ("Strategy", "A baseline by its builder's name, a strategy found by its trial's number."),
    ("Step time", "Seconds of one training step: the slowest worker, then the median over timed steps."),
    ("Speedup", "How many times as fast as the best baseline with the same training results."),
    ("Over bound", "Step time as a multiple of what the links allow at best for the same training results."),
)
_LATEST = (
    ("Trial", "In the order in which they ended."),
    ("Strategy", "What was measured, or will be."),
    ("State", "queued, running, or how it ended."),
    ("Step time", "Seconds of one training step."),
    ("Predicted", "What the simulator said before the trial."),
)


def verdict(state: StudyState) -> str:
    """What the study has found so far, in one sentence; empty before there is anything."""
    speedup = state.speedup
    newer = any(p.role == "proposal" and p.number > state.confirmed for p in reversed(state.points))
    mark = " (simulated)" if state.simulated else ""
    if speedup is not None and not newer:
        if speedup.ratio < 1:
            return f"No strategy found is faster than the best baseline, {speedup.baseline_label}{mark}."
        found = (
            f"The best strategy found is {speedup.ratio:.2f}x as fast as the best baseline, {speedup.baseline_label}"
        )
        if speedup.simulated:
            # Trials of one strategy are all alike, so an interval would say nothing.
            return f"{found}{mark}."
        interval = f"{100 * speedup.confidence:.0f} % interval {speedup.low:.2f} to {speedup.high:.2f}"
        return f"{found} ({interval}, over {speedup.samples} trials each)."
    ranked = _ranked(state.points)
    if not ranked:
        return ""
    best = ranked[0]
    text = f"Best so far: {best.name}, {seconds_text(best.step_time_s)}{mark}"
    base = _best_baseline(ranked, best.lossy)
    if base is not None and base is not best:
        text += f", {base.step_time_s / best.step_time_s:.2f}x as fast as the best baseline, {base.label}"
    if 0 < best.bound_s < math.inf:
        text += f"; {best.step_time_s / best.bound_s:.2f}x its bandwidth bound"
    return f"{text}."


def _ranked(points: Iterable[SearchPoint]) -> list[SearchPoint]:
    timed = [p for p in points if p.role in ("baseline", "proposal") and not math.isnan(p.step_time_s)]
    return sorted(timed, key=lambda p: (p.step_time_s, p.number))


def _best_baseline(ranked: Iterable[SearchPoint], lossy: bool) -> SearchPoint | None:
    """The fastest baseline of the same semantics; any baseline may stand for lossy ones."""
    return next((p for p in ranked if p.role == "baseline" and (lossy or not p.lossy)), None)


def fastest_html(state: StudyState) -> str:
    """The fastest strategies found so far, and the fastest baselines."""
    ranked = _ranked(state.points)
    found = [p for p in ranked if p.role == "proposal"][:MOST_FOUND]
    baselines = [p for p in ranked if p.role == "baseline"][:MOST_BASELINES]
    rows = []
    for point in _ranked([*found, *baselines]):
        base = _best_baseline(ranked, point.lossy)
        speedup = "—" if base is None else f"{base.step_time_s / point.step_time_s:.2f}x"
        over = f"{point.step_time_s / point.bound_s:.2f}x" if 0 < point.bound_s < math.inf else "—"
        rows.append((_named(point.name, point.look, point.lossy), seconds_text(point.step_time_s), speedup, over))
    return _table(f"Fastest so far{_simulated(state)}", _FASTEST, rows, numbers=(1, 2, 3))


def latest_html(state: StudyState) -> str:
    """Trials that are queued or running, and the newest that ended."""
    label = state.plan.algorithm if state.plan is not None else "proposal"
    running = state.running
    rows = []
    waiting = [q for q in state.queued if running is None or q.strategy_id != running.strategy_id]
    if state.busy:
        if len(waiting) > MOST_QUEUED:
            rows.append(("", f"{len(waiting) - MOST_QUEUED} more of {escape(label)}", "queued", "", ""))
        rows += [
            ("", escape(label), "queued", "", seconds_text(queued.predicted_s))
            for queued in reversed(waiting[:MOST_QUEUED])
        ]
    if running is not None:
        step = f", step {running.step} of {running.steps}" if running.stage == "steps" else ""
        said = next((q.predicted_s for q in state.queued if q.strategy_id == running.strategy_id), math.nan)
        rows.append(("", f"<b>{escape(running.label)}</b>", f"<b>running{step}</b>", "", seconds_text(said)))
    for point in reversed(state.points[-MOST_LATEST:]):
        again = " again" if point.role in ("anchor", "final") else ""
        rows.append(
            (
                str(point.number),
                _named(point.label + again, point.look, point.lossy),
                ("simulated" if point.simulated else "measured") if point.status == "ok" else point.status,
                seconds_text(point.step_time_s),
                seconds_text(point.predicted_s),
            )
        )
    return _table("Latest trials", _LATEST, rows, numbers=(0, 3, 4))


def failures(state: StudyState) -> list[tuple[int, Trial]]:
    """The newest failed trials with their numbers, newest first."""
    numbers = [p.number for p in state.points if p.status == "failed"][-MOST_FAILURES:]
    trials = {r.number: r.trial for r in state.records} if numbers else {}
    return [(n, trials[n]) for n in reversed(numbers)]


def failure_html(number: int, trial: Trial) -> str:
    """A failed trial: its stage and reason, and the end of its log behind a fold."""
    code = "" if trial.exit_code is None else f" (exit code {trial.exit_code})"
    reason = (
        f"<b>Trial {number}, {escape(trial.label)}</b>, failed in stage {escape(trial.stage)}: "
        f"{escape(trial.error)}{code}"
    )
    return log_html(reason, trial.stderr_tail, "autosync-failure")


def left_out_sentence(state: StudyState) -> str:
    """Which baselines are not measured, and why; empty if all are."""
    if not state.left_out:
        return ""
    words = "; ".join(f"{label} ({why.rstrip('.')})" for label, why in dict(state.left_out).items())
    return f"{plural(len(dict(state.left_out)), 'baseline')} left out: {words}."


def _named(name: str, look: Look, lossy: bool) -> str:
    badge = ' <span class="autosync-badge">lossy</span>' if lossy else ""
    return f"{marker_svg(look)}{escape(name)}{badge}"


def _simulated(state: StudyState) -> str:
    return ", simulated" if state.simulated else ""


def _table(
    title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> str:
    if not rows:
        return ""
    side = [' class="autosync-number"' if i in numbers else "" for i in range(len(columns))]
    head = "".join(
        f'<th scope="col" title="{escape(why)}"{s}>{escape(name)}</th>'
        for (name, why), s in zip(columns, side, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{s}>{cell}</td>' for cell, s in zip(row, side, strict=True))}</tr>" for row in rows
    )
    return (
        f'<table class="autosync-facts-table autosync-study-table"><caption>{escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
