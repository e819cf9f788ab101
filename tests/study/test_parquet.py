import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autosync_lab
from autosync_lab.errors import AutoSyncLabError, InvalidInput, MissingExtra
from autosync_lab.runtime.trial import Trial
from autosync_lab.study.parquet import export_trials, import_trials
from tests.study.trial_factory import ON_ONE_SERVER, make_trial, trials


@given(several=st.lists(trials, max_size=3))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_every_trial_comes_back_exactly(tmp_path: Path, several: list[Trial]) -> None:
    path = tmp_path / "trials.parquet"
    assert export_trials(several, path) == len(several)
    read = import_trials(path)
    # `repr` of a NaN equals itself, and tells 0 and -0 apart.
    assert [(repr(t), repr(t.events)) for t in read] == [(repr(t), repr(t.events)) for t in several]


def test_the_file_says_what_it_is_and_how_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "trials.parquet"
    export_trials([make_trial("a"), make_trial("b", model="other", model_hash="o" * 16), make_trial("c")], path)
    metadata = {k.decode(): v.decode() for k, v in pyarrow.parquet.read_schema(path).metadata.items()}
    assert metadata["format"] == "autosync-lab/trials"
    assert metadata["format_version"] == "1"
    assert metadata["package_version"] == autosync_lab.__version__
    assert json.loads(metadata["models"]) == [
        {"name": "other", "hash": "o" * 16},
        {"name": "vgg-mini", "hash": "m" * 16},
    ]
    assert json.loads(metadata["clusters"]) == [{"name": "local-2", "hash": "c" * 16}]


def test_any_program_can_read_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "trials.parquet"
    export_trials([make_trial("a", simulated=True), make_trial("b", strategy=None, bytes_sent=None)], path)
    table = pyarrow.parquet.read_table(path)
    assert table["id"].to_pylist() == ["a", "b"]
    assert table["simulated"].to_pylist() == [True, False]
    assert table["step_times_s"].to_pylist()[0] == [[0.3, 0.2], [0.1, 0.25], [0.4, 0.5]]
    assert json.loads(table["strategy"].to_pylist()[0])["format"] == "autosync-lab/strategy"
    assert table["strategy"].null_count == table["bytes_sent"].null_count == 1


def test_an_older_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "trials.parquet"
    export_trials([make_trial("a")], path)
    with pytest.raises(InvalidInput, match="cannot be written"):
        export_trials([make_trial("b", seed=2**64)], path)
    assert import_trials(path) == [make_trial("a")]
    export_trials([make_trial("b", strategy=ON_ONE_SERVER)], path)
    assert import_trials(path) == [make_trial("b", strategy=ON_ONE_SERVER)]
    assert [p.name for p in tmp_path.iterdir()] == ["trials.parquet"]


def other_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"]}), path)


def changed(path: Path, change: Any) -> None:
    export_trials([make_trial("a")], path)
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(change(table), path)


def newer_version(path: Path) -> None:
    changed(path, lambda t: t.replace_schema_metadata({**t.schema.metadata, b"format_version": b"2"}))


def missing_column(path: Path) -> None:
    changed(path, lambda t: t.drop_columns(["losses"]))


def other_type(path: Path) -> None:
    changed(path, lambda t: t.set_column(t.schema.get_field_index("seed"), "seed", pyarrow.array(["7"])))


def null_where_none_belongs(path: Path) -> None:
    changed(
        path,
        lambda t: t.set_column(
            t.schema.get_field_index("losses"),
            "losses",
            pyarrow.array([None], pyarrow.list_(pyarrow.float64())),
        ),
    )


def bad_strategy(path: Path) -> None:
    changed(path, lambda t: t.set_column(t.schema.get_field_index("strategy"), "strategy", pyarrow.array(["{}"])))


def text_file(path: Path) -> None:
    path.write_text("trial,seconds\n" * 100)


def cut_off(path: Path) -> None:
    export_trials([make_trial(str(i)) for i in range(50)], path)
    path.write_bytes(path.read_bytes()[:-200])


def empty(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (other_parquet, "no data set of trials"),
        (newer_version, r"version 1 \(received '2'\)"),
        (missing_column, "a column is missing"),
        (other_type, "not of its type"),
        (null_where_none_belongs, "damaged"),
        (bad_strategy, "no strategy file"),
        (text_file, "no data set of trials"),
        (cut_off, "no data set of trials"),
        (empty, "no data set of trials"),
        (Path.mkdir, "no data set of trials"),
        (lambda path: None, "no file of this name"),
    ],
)
def test_what_is_no_data_set_is_one_clear_error(tmp_path: Path, make: Any, message: str) -> None:
    path = tmp_path / "trials.parquet"
    make(path)
    with pytest.raises(InvalidInput, match=message):
        import_trials(path)


def test_the_folder_must_exist(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "t.parquet", tmp_path):
        with pytest.raises(InvalidInput, match="folder"):
            export_trials([], path)


def test_what_the_system_refuses_is_an_error_of_this_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **settings: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.parquet, "write_table", full)
    with pytest.raises(AutoSyncLabError, match="No space left"):
        export_trials([], tmp_path / "t.parquet")


def test_a_log_that_was_no_utf8_does_not_cost_the_data_set(tmp_path: Path) -> None:
    tail = b"worker \xff died".decode(errors="surrogateescape")
    export_trials([make_trial(stderr_tail=tail)], tmp_path / "t.parquet")
    assert import_trials(tmp_path / "t.parquet") == [make_trial(stderr_tail="worker \\udcff died")]


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for use in (lambda: export_trials([], tmp_path / "t"), lambda: import_trials(tmp_path / "t")):
        with pytest.raises(MissingExtra, match=r"autosync-lab\[study\]"):
            use()


def test_numbers_that_are_whole_floats_stay_floats(tmp_path: Path) -> None:
    trial = replace(make_trial(), bound_s=1.0, losses=(1.0,), bytes_sent={"n0": 3.0})
    export_trials([trial], tmp_path / "t.parquet")
    assert repr(import_trials(tmp_path / "t.parquet")[0]) == repr(trial)
