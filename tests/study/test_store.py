import json
import math
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from autosync_lab.errors import InvalidInput, StoreUnavailable
from autosync_lab.runtime.trial import Event, Trial
from autosync_lab.study import TrialStore
from autosync_lab.study.rows import DERIVED_COLUMNS, trial_to_row
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER, make_trial, trials

OLD_STORES = Path(__file__).parents[1] / "data" / "stores"


def exact(trial: Trial) -> dict[str, Any]:
    """Comparable content: `repr` of a NaN equals itself. Adding 0 makes -0 of 0, which SQLite does not tell apart."""
    values = {f.name: getattr(trial, f.name) for f in fields(trial)}
    return {name: repr(value + 0.0 if isinstance(value, float) else value) for name, value in values.items()}


@given(trial=trials)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_trial_comes_back_exactly(trial: Trial) -> None:
    with TrialStore(None) as store:
        store.add(trial)
        (read,) = store.trials()
        assert exact(read) == exact(trial)


@given(trial=trials)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_trial_fits_the_frames(trial: Trial) -> None:
    with TrialStore(None) as store:
        store.add(trial)
        assert store.to_frame()["seed"].tolist() == [trial.seed]
        assert len(store.step_frame()) == sum(len(row) for row in trial.step_times_s)


def test_every_field_of_a_trial_has_a_column() -> None:
    columns = set(trial_to_row(make_trial()))
    assert columns == {f.name for f in fields(Trial)} - {"strategy"} | set(DERIVED_COLUMNS)


def test_trials_survive_closing_and_keep_their_order(tmp_path: Path) -> None:
    added = [make_trial("b"), make_trial("a", strategy=None, label="peer"), make_trial("c", status="failed")]
    with TrialStore(tmp_path / "trials.db") as store:
        for trial in added:
            store.add(trial)
        assert len(store) == 3
    with TrialStore(tmp_path / "trials.db") as store:
        assert store.trials() == added
    assert [p.name for p in tmp_path.iterdir()] == ["trials.db"]


def test_equal_strategies_are_stored_once(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "trials.db") as store:
        for i, strategy in enumerate([ALL_REDUCE, ON_ONE_SERVER, ALL_REDUCE]):
            store.add(make_trial(str(i), strategy=strategy))
    connection = sqlite3.connect(tmp_path / "trials.db")
    documents = dict(connection.execute("SELECT id, document FROM strategies"))
    connection.close()
    assert {k: json.loads(v) for k, v in documents.items()} == {s.id: s.to_json() for s in (ALL_REDUCE, ON_ONE_SERVER)}


def test_filters() -> None:
    store = TrialStore(None)
    store.add(make_trial("a", model_hash="m1", cluster_hash="c1", status="ok"))
    store.add(make_trial("b", model_hash="m1", cluster_hash="c2", status="failed"))
    store.add(make_trial("c", model_hash="m2", cluster_hash="c1", status="ok"))
    assert [t.id for t in store.trials(model_hash="m1")] == ["a", "b"]
    assert [t.id for t in store.trials(cluster_hash="c1")] == ["a", "c"]
    assert [t.id for t in store.trials(model_hash="m1", status="ok")] == ["a"]
    assert store.trials(model_hash="m1' OR 1 --") == []
    with pytest.raises(InvalidInput, match=r"'done'.*Valid: ok, failed, stopped"):
        store.trials(status="done")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("since", "ids"),
    [
        ("2026-01-31T12:00:00.500", ["b", "c"]),
        ("2026-01-31T12:00:00.500+00:00", ["b", "c"]),
        ("2026-01-31T13:00:01+01:00", ["c"]),
        (datetime(2026, 1, 31, 12, 0, 1, tzinfo=UTC), ["c"]),
        (datetime(2026, 1, 31, 10, 0, 1, tzinfo=timezone(-timedelta(hours=2))), ["c"]),
        ("2026-02-01", []),
    ],
)
def test_since(since: str | datetime, ids: list[str]) -> None:
    store = TrialStore(None)
    store.add(make_trial("a", created="2026-01-31T12:00:00+00:00"))
    store.add(make_trial("b", created="2026-01-31T12:00:00.500000+00:00"))
    store.add(make_trial("c", created="2026-01-31T12:00:01+00:00"))
    assert [t.id for t in store.trials(since=since)] == ids


def test_since_that_is_no_time() -> None:
    with pytest.raises(InvalidInput, match="'yesterday'"):
        TrialStore(None).trials(since="yesterday")


def test_a_watcher_gets_each_trial_once(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as writer:
        watcher = TrialStore.open_readonly(tmp_path / "t.db")
        assert watcher.changes_since() == ([], 0)
        writer.add(make_trial("a"))
        writer.add(make_trial("b"))
        new, number = watcher.changes_since()
        assert [t.id for t in new] == ["a", "b"]
        assert watcher.changes_since(number) == ([], number)
        writer.add(make_trial("c"))
        new, number = watcher.changes_since(number)
        assert [t.id for t in new] == ["c"]
        watcher.close()


def test_a_refused_trial_leaves_nothing(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as store:
        store.add(make_trial("a"))
        with pytest.raises(InvalidInput, match="'a'"):
            store.add(make_trial("a", strategy=ON_ONE_SERVER))
        with pytest.raises(InvalidInput, match="64 bits"):
            store.add(make_trial("b", seed=2**64, strategy=ON_ONE_SERVER))
        with pytest.raises(InvalidInput, match="status"):
            store.add(make_trial("c", status="done"))
        store.add(make_trial("d"))
        assert [t.id for t in store.trials()] == ["a", "d"]
    connection = sqlite3.connect(tmp_path / "t.db")
    assert connection.execute("SELECT count(*) FROM strategies").fetchone() == (1,)
    connection.close()


def test_a_log_that_was_no_utf8_does_not_cost_the_trial() -> None:
    store = TrialStore(None)
    store.add(make_trial(stderr_tail=b"worker \xff died".decode(errors="surrogateescape")))
    assert store.trials()[0].stderr_tail == "worker \\udcff died"


def test_frame_has_one_tidy_row_per_trial() -> None:
    store = TrialStore(None)
    store.add(make_trial("a"))
    store.add(make_trial("b", simulated=True, bytes_sent=None, bytes_received=None))
    store.add(make_trial("c", status="failed", step_times_s=(), exit_code=-9, error="killed", strategy=None))
    frame = store.to_frame()
    assert list(frame["id"]) == ["a", "b", "c"]
    assert list(frame["simulated"]) == [False, True, False]
    assert frame["step_time_s"][0] == 0.3
    assert math.isnan(frame["step_time_s"][2])
    assert frame["bytes_sent"][0] == 400.0
    assert math.isnan(frame["bytes_sent"][1])
    assert frame["exit_code"].isna().tolist() == [True, True, False]
    assert frame["exit_code"][2] == -9
    assert frame["created"][0] == datetime(2026, 1, 31, 12, 0, 0, 250000, tzinfo=UTC)
    assert frame["strategy_id"].isna().tolist() == [False, False, True]
    expected = make_trial().step_time_quartiles_s
    assert (frame["step_time_q25_s"][0], frame["step_time_q75_s"][0]) == expected


def test_frames_of_an_empty_store_have_the_same_types() -> None:
    empty, full = TrialStore(None), TrialStore(None)
    full.add(make_trial())
    assert (empty.to_frame().dtypes == full.to_frame().dtypes).all()
    assert (empty.step_frame().dtypes == full.step_frame().dtypes).all()
    assert len(empty.to_frame()) == len(empty.step_frame()) == 0


def test_step_frame_has_every_step_time_of_every_worker() -> None:
    store = TrialStore(None)
    store.add(make_trial("a", step_times_s=((0.3, 0.2), (float("nan"), 0.25))))
    store.add(make_trial("b", step_times_s=((1.0,),), simulated=True, label="ps"))
    rows = [tuple(row) for row in store.step_frame().itertuples(index=False)]
    assert rows[:2] == [("a", "all-reduce", False, 0, 0, 0.3), ("a", "all-reduce", False, 0, 1, 0.2)]
    assert math.isnan(rows[2][-1])
    assert rows[3:] == [("a", "all-reduce", False, 1, 1, 0.25), ("b", "ps", True, 0, 0, 1.0)]


def test_any_program_can_read_the_file(tmp_path: Path) -> None:
    """What pandas.read_sql or an SQLite browser sees, without this package."""
    with TrialStore(tmp_path / "t.db") as store:
        store.add(make_trial("a"))
    connection = sqlite3.connect(tmp_path / "t.db")
    assert connection.execute("SELECT step, worker, seconds FROM step_times WHERE trial_id = 'a'").fetchall() == [
        (0, 0, 0.3),
        (0, 1, 0.2),
        (1, 0, 0.1),
        (1, 1, 0.25),
        (2, 0, 0.4),
        (2, 1, 0.5),
    ]
    assert connection.execute("SELECT * FROM node_bytes").fetchall() == [
        ("a", "n0", 100.0, 300.0),
        ("a", "n1", 300.0, 100.0),
    ]
    assert connection.execute("SELECT step_time_s, bound_s, simulated FROM trials").fetchall() == [(0.3, 0.2, 0)]
    connection.close()


def test_the_folder_must_exist(tmp_path: Path) -> None:
    for open_store in (TrialStore, TrialStore.open_readonly):
        with pytest.raises(InvalidInput, match="folder"):
            open_store(tmp_path / "none" / "t.db")
    assert not (tmp_path / "none").exists()


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    for open_store in (TrialStore, TrialStore.open_readonly):
        with pytest.raises(InvalidInput, match="not a folder"):
            open_store(tmp_path)


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no trial store"):
        TrialStore.open_readonly(tmp_path / "t.db")
    assert list(tmp_path.iterdir()) == []


def other_program(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE trials (x)")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def newer_version(path: Path) -> None:
    TrialStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 3")
    connection.close()


def text_file(path: Path) -> None:
    path.write_text("trial,seconds\n" * 100)


def short_file(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (other_program, "another program"),
        (newer_version, r"versions 1 to 2 \(received 3\)"),
        (text_file, "no SQLite database"),
        (short_file, "no SQLite database"),
    ],
)
def test_what_is_no_store_is_left_as_it_is(tmp_path: Path, make: Any, message: str) -> None:
    path = tmp_path / "t.db"
    make(path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    for open_store in (TrialStore, TrialStore.open_readonly):
        with pytest.raises(InvalidInput, match=message):
            open_store(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_a_damaged_store_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with TrialStore(path) as store:
        for i in range(50):
            store.add(make_trial(str(i)))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match=r"t\.db"), TrialStore(path) as store:
        store.trials()


def test_a_file_of_no_bytes_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "t.db").touch()
    with TrialStore(tmp_path / "t.db") as store:
        store.add(make_trial())
        assert len(store) == 1


def test_a_store_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with TrialStore(None) as store:
        store.add(make_trial())
    assert list(tmp_path.iterdir()) == []


def test_a_path_may_hold_characters_that_mean_something_in_a_uri(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#%20é.db"
    with TrialStore(path) as store:
        store.add(make_trial())
    with TrialStore.open_readonly(path) as store:
        assert len(store) == 1


def test_reading_only_cannot_write(tmp_path: Path) -> None:
    TrialStore(tmp_path / "t.db").close()
    with (
        TrialStore.open_readonly(tmp_path / "t.db") as store,
        pytest.raises(InvalidInput, match="only be read"),
    ):
        store.add(make_trial())
    assert [p.name for p in tmp_path.iterdir()] == ["t.db"]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = TrialStore(tmp_path / "t.db")
    store.close()
    store.close()
    for use in (lambda: store.add(make_trial()), store.trials, lambda: len(store), store.to_frame):
        with pytest.raises(InvalidInput, match="closed"):
            use()


def test_a_store_of_version_1_can_be_read_and_extended(tmp_path: Path) -> None:
    path = tmp_path / "v1.db"
    path.write_bytes((OLD_STORES / "v1.db").read_bytes())
    with TrialStore(path) as store:
        old = store.trials()
        assert Counter(t.status for t in old) == {"ok": 2, "failed": 1, "stopped": 1}
        assert old[0].strategy is not None
        assert old[0].strategy.id == "2e756ba00684"
        assert old[0].step_times_s == ((0.3, 0.2), (0.1, 0.25), (0.4, 0.5))
        assert old[0].events == (Event("0", "compute", "forward", 0.0, 0.1),)
        assert old[1].simulated
        assert old[1].bytes_sent is None
        assert old[1].bound_s == math.inf
        assert (old[2].exit_code, old[2].error, old[2].stderr_tail) == (
            -9,
            "worker 1 ended",
            "ünterbrochen\n",
        )
        assert old[3].strategy is None
        assert math.isnan(old[3].setup_s)
        store.add(make_trial("new"))
        assert len(store) == 5


def test_a_store_of_version_1_becomes_one_of_this_version(tmp_path: Path) -> None:
    path = tmp_path / "v1.db"
    path.write_bytes((OLD_STORES / "v1.db").read_bytes())
    with TrialStore(path) as store:
        assert store.database.version == 2
    with TrialStore(path) as store, TrialStore(None) as new:
        tables = "SELECT sql FROM sqlite_schema ORDER BY type, name"
        assert [row[0] for row in store.database.read(tables)] == [row[0] for row in new.database.read(tables)]


def test_reading_only_leaves_a_store_of_version_1_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "v1.db"
    path.write_bytes((OLD_STORES / "v1.db").read_bytes())
    with TrialStore.open_readonly(path) as store:
        assert (len(store), store.database.version) == (4, 1)
    assert path.read_bytes() == (OLD_STORES / "v1.db").read_bytes()


@pytest.mark.parametrize(
    ("column", "value"),
    [("step_times_s", "{"), ("losses", "3"), ("versions", "[1"), ("bytes_sent", "[1]"), ("events", '"x"')],
)
def test_a_damaged_trial_is_one_clear_error(tmp_path: Path, column: str, value: str) -> None:
    path = tmp_path / "trials.db"
    with TrialStore(path) as store:
        store.add(make_trial("t"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE trials SET {column} = ?", (value,))
        connection.commit()
    with TrialStore(path) as store, pytest.raises(InvalidInput, match="damaged"):
        store.trials()
