"""A data set's datasheet."""

import re
from dataclasses import replace

from autosync_lab.study.data_set import DataSet
from autosync_lab.study.data_set.datasheet import datasheet
from autosync_lab.study.data_set.plan import RANDOM, REPEATED
from tests.study.data_set.test_data_set import _data_set


def _more(*labels: str) -> DataSet:
    one = _data_set()
    trials = [replace(one.trials[i % 2], id=f"more-{i}", label=label) for i, label in enumerate(labels)]
    return DataSet((*one.trials, *trials), one.models, one.clusters, one.calibrations)


def _row(sheet: str, columns: int) -> list[str]:
    (row,) = [line for line in sheet.splitlines() if line.startswith("| small |") and line.count("|") == columns + 1]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_it_counts_what_there_is_by_kind() -> None:
    row = _row(datasheet(_more(RANDOM, RANDOM, REPEATED, "autosync", "random-pruned")), 10)
    assert row == ["small", "two-nodes", "2", "1", "2", "1", "1", "300", "300", "300"]


def test_noise_is_that_of_repeated_strategies() -> None:
    one = _more(REPEATED, REPEATED, RANDOM, RANDOM)
    slower = tuple(
        replace(t, step_times_s=((0.33,),)) if t.label == REPEATED else replace(t, step_times_s=((0.3,),))
        for t in one.trials
    )
    row = _row(datasheet(replace(one, trials=slower)), 5)
    assert row[2] == "2"
    assert 1.0 < float(row[3].removesuffix("%")) < 10.0
    assert row[4] == "0.500"  # the random ones all took the same time


def test_without_repetitions_noise_is_unknown() -> None:
    assert _row(datasheet(_data_set()), 5)[2:] == ["0", "unknown", "unknown"]


def test_it_says_so_if_anything_is_simulated() -> None:
    assert "none is simulated" in datasheet(_data_set())
    one = _data_set()
    played = replace(one, trials=(one.trials[0], replace(one.trials[1], simulated=True)))
    assert "none is simulated" not in datasheet(played)
    assert "1 of them are simulated" in datasheet(played)


def test_it_says_how_and_when_trials_were_made() -> None:
    sheet = datasheet(_data_set())
    assert "1 steps that are not timed and 3 that are" in re.sub(r"\s+", " ", sheet)
    assert "2026-01-31T12:00" in sheet
    assert "tensorflow 2.21.0" in sheet
