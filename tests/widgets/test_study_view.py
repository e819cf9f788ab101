import json
import math
from dataclasses import replace
from typing import Any

import pytest

from autosync_widgets.panels.study_view import StudyView
from autosync_widgets.study_state import Plan, StudyState, advance
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER
from tests.widgets.search_study import study_record

NEW = StudyState("a", "tiny", "pair", plan=Plan(20_000, ("ps",), "autosync", "cost-model"))


def test_an_update_sends_little_however_many_trials_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 10_000
    records = [study_record(1, 0.9, "baseline", label="ps", strategy=ON_ONE_SERVER)]
    records += [
        study_record(
            i,
            0.3 + i * 37 % 101 / 1000,
            predicted_s=0.3 + i * 41 % 103 / 1000,
            strategy=ALL_REDUCE if i % 2 else ON_ONE_SERVER,
        )
        for i in range(2, count + 2)
    ]
    view = StudyView()
    before = advance(NEW, [], records[:count], "running")
    view.show(before)
    sent: list[Any] = []
    for figure in (view.progress, view.predictions):
        monkeypatch.setattr(figure, "send", lambda content, buffers=None: sent.append(content))
    texts = (view._status, view._found, view._fastest, view._latest, view._left_out)
    for text in texts:
        text.observe(lambda change: sent.append(change["new"]), "value")
    view.show(advance(before, [], records, "running"))
    assert 0 < len(json.dumps(sent, allow_nan=False)) < 50_000
    assert [m["say"] for m in sent if isinstance(m, dict)] == ["changes", "changes"]
    sent.clear()
    view.show(view.state)
    assert sent == []


def test_a_failure_that_is_open_stays_open() -> None:
    view = StudyView()
    records = [study_record(1, status="failed", error="first", stderr_tail="log")]
    view.show(advance(NEW, [], records, "running"))
    (first,) = view._failures.children
    view.show(advance(NEW, [], [*records, study_record(2, status="failed", error="second")], "running"))
    assert view._failures.children[1] is first
    assert "second" in view._failures.children[0].value


def test_trouble_comes_before_warnings_and_errors() -> None:

    view = StudyView()
    view.warn("careful")
    assert "careful" in view._notice.value
    view.show(replace(NEW, error="five in a row", trouble="disk full"))
    assert "disk full" in view._notice.value
    view.show(replace(NEW, error="five in a row"))
    assert "careful" in view._notice.value
    view.warn("")
    assert "five in a row" in view._notice.value


def test_unknown_numbers_are_dashes() -> None:
    view = StudyView()
    view.show(advance(NEW, [], [study_record(1, bound_s=math.inf), study_record(2, status="stopped")], "stopped"))
    shown = view._fastest.value + view._latest.value + view._found.value
    assert "nan" not in shown
    assert "—" in shown
