from typing import Any

import pytest

from autosync_widgets.round_trip import RoundTrip


def test_an_action_waits_for_its_own_answer_and_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trip = RoundTrip()
    sent: list[Any] = []
    done: list[str] = []
    monkeypatch.setattr(trip, "send", lambda content, buffers=None: sent.append(content))
    trip.then(lambda: done.append("first"))
    trip.then(lambda: done.append("second"))
    assert sent == [{"number": 1}, {"number": 2}]
    trip._answer(trip, {"answer": 1}, [])
    assert done == []
    for _ in range(2):
        trip._answer(trip, {"answer": 2}, [])
    assert done == ["second"]
