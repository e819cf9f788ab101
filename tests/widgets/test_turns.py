import threading
from dataclasses import replace
from typing import Any

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import InvalidInput
from autosync_widgets.turns import TakesTurns, open_in_turns


class Busy:
    """A runner that notes how many trials run at the same time."""

    running = 0
    most = 0

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.worker_pids = {0: 1}

    def measure(self, name: str, *, label: str) -> Any:
        Busy.running += 1
        Busy.most = max(Busy.most, Busy.running)
        # Long enough for another thread to come in between, if it could.
        threading.Event().wait(0.02)
        Busy.running -= 1
        return name + label

    def cancel(self) -> None:
        self.ended.append("cancel")

    def close(self) -> None:
        self.ended.append("close")


def test_trials_of_several_runners_come_one_after_the_other() -> None:
    runners = [Busy(), Busy(), Busy()]
    turns = [TakesTurns(r) for r in runners]
    results: list[Any] = []
    threads = [threading.Thread(target=lambda t=t: results.append(t.measure("a", label="b"))) for t in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == ["ab"] * 3
    assert Busy.most == 1
    turns[0].cancel()
    turns[0].close()
    assert runners[0].ended == ["cancel", "close"]
    assert turns[0].worker_pids == {0: 1}


def test_a_cluster_that_can_only_be_simulated_is_refused() -> None:

    with pytest.raises(InvalidInput, match="only be simulated"):
        open_in_turns(replace(load_cluster("local-2"), launcher="virtual"))
