"""`autosync-lab collect`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.study.data_set import DataSet
from autosync_lab.study.data_set import collect as collecting
from tests.study.data_set.test_data_set import _data_set

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is to be collected; nothing is measured."""
    asked: list[Any] = []

    def collect(what: Any, folder: Any, watcher: Any) -> DataSet:
        asked.append((what, folder))
        watcher.planned(2)
        watcher.calibrating("two-nodes")
        watcher.ended("small on two-nodes", "ps", 0.25)
        watcher.ended("small on two-nodes", "random", float("nan"))
        return _data_set()

    monkeypatch.setattr(collecting, "collect", collect)
    return asked


def test_the_standard_pairs_are_collected(run: Run, asked: list[Any], tmp_path: Path) -> None:
    code, out, err = run("collect", tmp_path)
    assert code == 0
    ((what, folder),) = asked
    assert [m.name for m in what.models] == ["vgg-mini", "resnet-mini", "ncf-small", "bert-tiny"]
    assert [c.name for c in what.clusters] == ["emulated-4", "emulated-hetero-4", "emulated-servers"]
    assert (what.random, what.searched, folder) == (100, 16, str(tmp_path))
    assert "small" in out
    assert "1/2 small on two-nodes ps: 250 ms" in err
    assert "2/2 small on two-nodes random: failed" in err
    assert "Calibrating two-nodes" in err


def test_what_is_asked_for_is_collected(run_json: Callable[..., Any], asked: list[Any], tmp_path: Path) -> None:
    code, document = run_json("collect", tmp_path, "--model", "lm-small", "--cluster", "local-2", "--random", "4")
    assert code == 0
    ((what, _),) = asked
    assert [m.name for m in what.models] == ["lm-small"]
    assert [c.name for c in what.clusters] == ["local-2"]
    assert what.random == 4
    assert document["pairs"] == [{"model": "small", "cluster": "two-nodes", "trials": 2}]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--model", "vgg"), "vgg"),
        (("--cluster", "cluster-a"), "cluster-a"),
        (("--random", "-1"), "-1"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    run: Run, asked: list[Any], tmp_path: Path, words: tuple[str, ...], named: str
) -> None:
    code, _, err = run("collect", tmp_path, *words)
    assert code == 2
    assert named in err
    assert not asked
