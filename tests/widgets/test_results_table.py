import math

from autosync_widgets.explorer_state import TrialState
from autosync_widgets.results_table import failure_html, notice_html, result_rows, results_html
from tests.study.trial_factory import ON_ONE_SERVER
from tests.widgets.requests import FP16, record, request

AR, PS, HALF = request(0), request(1, "ps", ON_ONE_SERVER), request(2, "horovod-fp16", FP16, bound_s=0.0)


def ended(of, *times_s: float, **changes: object) -> TrialState:
    trial = record(of, *times_s, **changes)
    return TrialState(of, trial.status, trial.stage, times_s, 0.0, trial, trial.error, trial.stderr_tail)


def test_a_row_takes_all_trials_of_its_strategy_together() -> None:
    rows = result_rows([ended(AR, 0.3, 0.5), ended(PS, 0.8), ended(AR, 0.4, setup_s=0.75)])
    first = rows[0]
    assert (first.label, first.steps, first.step_time_s, first.over_bound) == ("all-reduce", 3, 0.4, 2.0)
    assert (first.low_s, first.high_s, first.setup_s) == (0.35, 0.45, 0.75)


def test_the_fastest_is_marked_among_those_that_train_the_same() -> None:
    rows = result_rows([ended(AR, 0.3), ended(PS, 0.2), ended(HALF, 0.1)])
    assert [r.fastest for r in rows] == [False, True, False]
    assert not any(r.fastest for r in result_rows([ended(AR, 0.3), TrialState(PS)]))


def test_unknown_quantities_are_dashes() -> None:
    (row,) = result_rows([TrialState(HALF)])
    assert math.isnan(row.step_time_s)
    assert math.isnan(row.over_bound)
    html = results_html([row], "tiny on pair")
    assert "nan" not in html
    assert "queued" in html
    assert ">lossy<" in html


def test_no_table_without_rows() -> None:
    assert results_html((), "") == ""


def test_names_and_logs_cannot_inject_html() -> None:
    evil = "<img src=x onerror=alert(1)>"
    bad = request(0, evil)
    html = results_html(result_rows([ended(bad, 0.1)]), evil)
    html += failure_html(ended(bad, status="failed", error=evil, stderr_tail=evil))
    html += notice_html(evil, evil)
    assert "<img" not in html


def test_a_failure_says_stage_reason_and_exit_code_and_folds_its_log() -> None:
    html = failure_html(
        ended(AR, status="failed", stage="steps", error="replica 1 exited", stderr_tail="line 1\nline 2", exit_code=9)
    )
    assert html.startswith("<details")
    assert "failed in stage steps: replica 1 exited (exit code 9)" in html
    assert "<pre" in html
    assert "line 2" in html
    assert "<details" not in failure_html(ended(AR, status="failed", error="refused"))


def test_no_notice_is_nothing() -> None:
    assert notice_html("", "") == ""
