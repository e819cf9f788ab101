"""`TrialStore`: trials in one SQLite file."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from autosync_lab.errors import InvalidInput, InvalidStrategy, MissingExtra
from autosync_lab.runtime.trial import Status, Trial
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.database import Database
from autosync_lab.study.rows import json_text, trial_from_row, trial_to_row

if TYPE_CHECKING:
    import pandas as pd

_FRAME_COLUMNS = {
    "created": "str",
    "label": "str",
    "model": "str",
    "cluster": "str",
    "launcher": "str",
    "simulated": "bool",
    "status": "str",
    "stage": "str",
    "step_time_s": "float64",
    "step_time_q25_s": "float64",
    "step_time_q75_s": "float64",
    "bound_s": "float64",
    "setup_s": "float64",
    "total_s": "float64",
    "bytes_sent": "float64",
    "bytes_received": "float64",
    "steps": "int64",
    "warmup": "int64",
    "seed": "int64",
    "batch_size": "int64",
    "optimizer": "str",
    "learning_rate": "float64",
    "strategy_id": "str",
    "model_hash": "str",
    "cluster_hash": "str",
    "exit_code": "Int64",
    "error": "str",
    "stderr_tail": "str",
    "id": "str",
}


class TrialStore:
    """Trials in one SQLite file: appended as they end, never changed, read by any number of programs meanwhile.

    A store may be used from several threads, and its file by several processes at once: readers never wait for a
    writer, and writers take turns.

    Parameters
    ----------
    path : path-like or None
        The file, created if it does not exist; its folder must exist. None keeps the trials in memory.

    Raises
    ------
    InvalidInput
        If the folder does not exist, or the file is no store of a version that this one reads. Such a file is left
        as it is.
    StoreUnavailable
        If the system refuses.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.database = Database(self.path)

    @classmethod
    def open_readonly(cls, path: str | Path) -> Self:
        """Open an existing store for reading only, also where the file or its folder cannot be written.

        Raises
        ------
        InvalidInput
            If there is no such file, or it is no store of a version that this one reads.
        StoreUnavailable
            If the system refuses.
        """
        store = cls.__new__(cls)
        store.path = Path(path)
        store.database = Database.open_readonly(store.path)
        return store

    def add(self, trial: Trial) -> None:
        """Append a trial. When this returns, it is on the disk: the end of this process does not lose it.

        Raises
        ------
        InvalidInput
            If a trial with this id is there already, or the store is closed or open for reading only.
        StoreUnavailable
            If the system refuses (disk full, for example); then nothing of the trial is stored.
        """
        with self.database.transaction() as connection:
            insert_trial(connection, trial)

    def trials(
        self,
        model_hash: str | None = None,
        cluster_hash: str | None = None,
        status: Status | None = None,
        since: str | datetime | None = None,
    ) -> list[Trial]:
        """Trials in the order in which they were added, exactly as they were added.

        Parameters
        ----------
        model_hash, cluster_hash : str, optional
            Only trials of this model, on this cluster.
        status : {"ok", "failed", "stopped"}, optional
            Only trials that ended so.
        since : str or datetime, optional
            Only trials created at this time or later (to the millisecond); ISO 8601, UTC if it names no zone.

        Raises
        ------
        InvalidInput
            If `status` or `since` is none.
        """
        wanted: dict[str, Any] = {}
        if model_hash is not None:
            wanted["model_hash = ?"] = model_hash
        if cluster_hash is not None:
            wanted["cluster_hash = ?"] = cluster_hash
        if status is not None:
            if status not in get_args(Status):
                raise InvalidInput("unknown status of a trial", received=status, valid=get_args(Status))
            wanted["status = ?"] = status
        if since is not None:
            wanted["julianday(created) >= julianday(?)"] = _utc(since).isoformat(timespec="milliseconds")
        return self._read_trials(" AND ".join(wanted) or "1", tuple(wanted.values()))[0]

    def changes_since(self, number: int = 0) -> tuple[list[Trial], int]:
        """Trials added after `number`, and the number to ask with next time: how a watcher follows a running study.

        Parameters
        ----------
        number : int
            What the previous call returned; 0 is the beginning.
        """
        return self._read_trials("number > ?", (number,), number)

    def of_study(self, study: str, since: int = 0) -> list[Trial]:
        """Trials of a study whose number in it is above `since`, in the order in which they were added."""
        linked = "SELECT trial_id FROM study_trials AS s WHERE s.study = ? AND s.number > ?"
        return self._read_trials(f"trials.id IN ({linked})", (study, since))[0]

    def to_frame(self) -> "pd.DataFrame":
        """One row per trial: plain columns, times in seconds, bytes per timed step summed over nodes.

        `created` is a UTC time stamp, and `simulated` is True where a simulator produced the times. Step times of
        every step and worker are in `step_frame`, strategies and events in `trials`.
        """
        pandas = _pandas()
        columns = [f"{_FRAME_SQL.get(name, name)} AS {name}" for name in _FRAME_COLUMNS]
        rows = self.database.read(f"SELECT {', '.join(columns)} FROM trials ORDER BY number")
        frame: pd.DataFrame = pandas.DataFrame([tuple(row) for row in rows], columns=list(_FRAME_COLUMNS))
        try:
            frame = frame.astype(_FRAME_COLUMNS)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"a trial in this store is damaged ({error})", where=str(self.path)) from None
        created = pandas.to_datetime(frame["created"], utc=True, format="ISO8601", errors="coerce")
        frame["created"] = created.astype("datetime64[us, UTC]")
        return frame

    def step_frame(self) -> "pd.DataFrame":
        """One row per trial, timed step and worker: trial_id, label, simulated, step, worker, seconds."""
        types = {
            "trial_id": "str",
            "label": "str",
            "simulated": "bool",
            "step": "int64",
            "worker": "int64",
            "seconds": "float64",
        }
        rows = self.database.read(
            "SELECT trial_id, label, simulated, step, worker, seconds"
            " FROM step_times JOIN trials ON trials.id = trial_id ORDER BY number, step, worker"
        )
        frame: pd.DataFrame = _pandas().DataFrame([tuple(row) for row in rows], columns=list(types)).astype(types)
        return frame

    def __len__(self) -> int:
        return int(self.database.read("SELECT count(*) FROM trials")[0][0])

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TrialStore({str(self.path)!r})" if self.path else "TrialStore(None)"

    def _read_trials(self, where: str, values: tuple[Any, ...], last: int = 0) -> tuple[list[Trial], int]:
        strategies: dict[str, Strategy] = {}
        trials = []
        for row in self.database.read(
            "SELECT trials.*, document FROM trials LEFT JOIN strategies ON strategies.id = strategy_id"
            f" WHERE {where} ORDER BY number",
            values,
        ):
            key = row["strategy_id"]
            try:
                if key is not None and key not in strategies:
                    strategies[key] = Strategy.loads(row["document"], where=f"{self.path}: strategy {key}")
                trials.append(trial_from_row(dict(row), strategies.get(key)))
            except InvalidStrategy:
                raise
            except (ValueError, TypeError, AttributeError) as error:
                raise InvalidInput(
                    f"a trial in this store is damaged ({error})",
                    where=str(self.path),
                    received=f"trial {row['number']}",
                ) from None
            last = row["number"]
        return trials, last


def insert_strategy(connection: sqlite3.Connection, strategy: Strategy) -> None:
    """Add a strategy, inside a transaction; one that is there already stays as it is."""
    connection.execute("INSERT OR IGNORE INTO strategies VALUES (?, ?)", (strategy.id, json_text(strategy.to_json())))


def insert_trial(connection: sqlite3.Connection, trial: Trial) -> None:
    """Add a trial and its strategy, inside a transaction.

    Raises
    ------
    InvalidInput
        If a trial with this id is there already, or it cannot be stored.
    """
    row = trial_to_row(trial)
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    if trial.strategy is not None:
        insert_strategy(connection, trial.strategy)
    try:
        connection.execute(f"INSERT INTO trials ({names}) VALUES ({marks})", row)
    except sqlite3.IntegrityError as error:
        if "trials.id" in str(error):
            raise InvalidInput("a trial with this id is stored already", received=trial.id) from None
        raise InvalidInput(f"this trial cannot be stored: {error}", received=trial.id) from None
    except OverflowError:
        raise InvalidInput(
            "whole numbers of a trial fit in 64 bits", where=f"trial {trial.id!r}", received=trial.seed
        ) from None


_FRAME_SQL = {
    "bytes_sent": "(SELECT sum(value) FROM json_each(trials.bytes_sent))",
    "bytes_received": "(SELECT sum(value) FROM json_each(trials.bytes_received))",
}


def _utc(moment: str | datetime) -> datetime:
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise InvalidInput("a time is written as in ISO 8601: 2026-01-31T12:00:00", received=moment) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _pandas() -> ModuleType:
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "study") from None
    return pandas
