"""`autosync-lab ablate`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.study import ablations
from autosync_lab.study.ablations import Comparison, Settings
from tests.study.data_set.test_data_set import _data_set

FOUND = [
    Comparison("x", "a change", "here", "speedup", True, (1.0, 1.1), (2.0, 2.1), True, "2x", "better"),
    Comparison("x", "another", "there", "accuracy", True, (0.5, 0.6), (0.6, 0.5), False, "0.9", ""),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], Settings]]:
    """Which ablations are made."""
    asked: list[tuple[list[str], Settings]] = []

    def ablate(names: list[str], settings: Settings) -> list[Comparison]:
        asked.append((names, settings))
        return FOUND

    monkeypatch.setattr(ablations, "ablate", ablate)
    return asked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _data_set().write(tmp_path / "data")
    return tmp_path / "data"


def test_all_ablations_are_made_on_the_data_set(run: Callable[..., Any], asked: list[Any], folder: Path) -> None:
    code, out, _ = run("ablate", "--data", folder)
    assert code == 0
    ((names, settings),) = asked
    assert names == list(ablations.ABLATIONS)
    assert settings.data_set == _data_set()
    assert "a change (simulated)" in " ".join(out.split())
    assert "2x yes" in " ".join(out.split())


def test_chosen_ones_go_to_a_table_and_a_document(
    run_json: Callable[..., Any], asked: list[Any], folder: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    code, document = run_json("ablate", "constraints", "--data", folder, "--seeds", 5, "--splits", 2, "--csv", table)
    assert code == 0
    ((names, settings),) = asked
    assert (names, list(settings.seeds), settings.splits) == (["constraints"], [0, 1, 2, 3, 4], 2)
    assert [c["verdict"] for c in document["comparisons"]] == ["better", "no clear difference"]
    assert table.read_text().count("\n") == 3


def test_a_mistake_is_told(run: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    code, _, err = run("ablate", "constrains", "--data", tmp_path / "none")
    assert code == 2
    assert "constraints" in err
    code, _, err = run("ablate", "--data", tmp_path / "none")
    assert code == 2
    assert "none" in err
