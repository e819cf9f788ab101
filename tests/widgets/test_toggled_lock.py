from itertools import product
from typing import Any

from autosync_lab.cluster import load_cluster
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.space import StrategySpace
from autosync_widgets.panels.toggled_lock import toggled_lock

TABLE = Variable("v", (8, 4), sparse=True, touched_rows=2.0)
SPACE = StrategySpace(ModelSpec("m", (TABLE,), 4), load_cluster("emulated-4"), lossy=True)

CHOICES: tuple[dict[str, Any], ...] = (
    {"axis": None, "shards": 1},
    {"axis": 0, "shards": 4},
    {"synchronizer": "ps"},
    {"synchronizer": "ar"},
    {"destination": "node1"},
    {"local_replication": True},
    {"compressor": "fp16"},
    {"compressor": "none"},
    {"sparse_as": "gather"},
    {"sparse_as": "dense"},
)


def test_a_second_click_takes_a_choice_back() -> None:
    lock = toggled_lock({}, {"axis": 0, "shards": 4})
    assert lock == {"axis": 0, "shards": 4}
    assert toggled_lock(lock | {"synchronizer": "ps"}, {"axis": 0, "shards": 4}) == {"synchronizer": "ps"}


def test_another_choice_of_the_same_aspect_replaces_it() -> None:
    assert toggled_lock({"destination": "node0"}, {"destination": "node1"}) == {"destination": "node1"}
    assert toggled_lock({"axis": 0, "shards": 4}, {"axis": None, "shards": 1}) == {"axis": None, "shards": 1}


def test_whatever_is_clicked_one_after_the_other_can_be_locked_and_keeps_the_last_click() -> None:
    for clicks in product(CHOICES, repeat=3):
        lock: dict[str, Any] = {}
        for choice in clicks:
            was_there = choice.items() <= lock.items()
            lock = toggled_lock(lock, choice)
            assert (choice.items() <= lock.items()) is not was_there, clicks
        assert SPACE.lock("v", **lock).domain.variables, clicks
