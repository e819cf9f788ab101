"""Trials as a Parquet file: a data set that other machines and later versions read.

One row per trial, in order; columns as the fields of `Trial`. `strategy` is the strategy's versioned JSON document
(null for a peer), everything else a plain Arrow type. The metadata of the schema says what the file is and how it was
made: `format`, `format_version`, `package_version`, and JSON lists of the `models` and `clusters` that occur.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import autosync_lab
from autosync_lab.errors import AutoSyncLabError, InvalidInput, MissingExtra
from autosync_lab.runtime.trial import Event, Trial
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.rows import INTEGER_FIELDS, SECONDS_AND_RATES, TEXT_FIELDS, json_text, storable_text

FORMAT = "autosync-lab/trials"
FORMAT_VERSION = 1

_EVENT_FIELDS = ("worker", "lane", "name", "start_s", "end_s")


def export_trials(trials: Iterable[Trial], path: str | Path) -> int:
    """Write trials to a Parquet file; an older file of this name is replaced once the new one is complete.

    Returns
    -------
    int
        Number of trials written.

    Raises
    ------
    InvalidInput
        If the folder does not exist, or a trial cannot be written.
    MissingExtra
        If pyarrow is not installed.
    AutoSyncLabError
        If the system refuses.
    """
    arrow, parquet = _pyarrow()
    path, trials = Path(path), list(trials)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInput("a data set is a file in a folder that exists", received=str(path))
    try:
        table = arrow.Table.from_pylist(
            [_row(t) for t in trials], schema=_schema(arrow).with_metadata(_metadata(trials))
        )
    except (arrow.ArrowException, OverflowError) as error:
        raise InvalidInput(f"a trial cannot be written ({error})", where=str(path)) from None
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        parquet.write_table(table, partial, compression="zstd")
        partial.replace(path)
    except OSError as error:
        raise AutoSyncLabError(f"{path}: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return len(trials)


def import_trials(path: str | Path) -> list[Trial]:
    """Read the trials of a Parquet file, exactly as they were written.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is none that `export_trials` wrote.
    MissingExtra
        If pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    where = str(path)
    try:
        table = parquet.read_table(path, partitioning=None)
    except FileNotFoundError:
        raise InvalidInput("there is no file of this name", received=where) from None
    except (OSError, arrow.ArrowException) as error:
        raise InvalidInput(f"this file is no data set of trials ({error})", received=where) from None
    metadata = table.schema.metadata or {}
    if metadata.get(b"format") != FORMAT.encode():
        raise InvalidInput("this Parquet file is no data set of trials", received=where)
    version = metadata.get(b"format_version", b"").decode(errors="replace")
    if version != str(FORMAT_VERSION):
        raise InvalidInput(f"this version reads data sets of version {FORMAT_VERSION}", where=where, received=version)
    if not table.schema.equals(_schema(arrow)):
        raise InvalidInput("a column is missing, or is not of its type", where=where)
    strategies: dict[str, Strategy] = {}
    return [_trial(row, strategies, where) for row in table.to_pylist()]


def _schema(arrow: ModuleType) -> Any:
    text, number, count = arrow.string(), arrow.float64(), arrow.int64()
    event = arrow.struct([(n, number if n.endswith("_s") else text) for n in _EVENT_FIELDS])
    columns = [
        *((name, text) for name in TEXT_FIELDS),
        *((name, count) for name in INTEGER_FIELDS),
        *((name, number) for name in SECONDS_AND_RATES),
        ("exit_code", count),
        ("simulated", arrow.bool_()),
        ("strategy", text),
        ("step_times_s", arrow.list_(arrow.list_(number))),
        ("bytes_sent", arrow.map_(text, number)),
        ("bytes_received", arrow.map_(text, number)),
        ("versions", arrow.map_(text, text)),
        ("losses", arrow.list_(number)),
        ("events", arrow.list_(event)),
    ]
    return arrow.schema(columns)


def _metadata(trials: list[Trial]) -> dict[str, str]:
    models = sorted({(t.model, t.model_hash) for t in trials})
    clusters = sorted({(t.cluster, t.cluster_hash) for t in trials})
    return {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "package_version": autosync_lab.__version__,
        "models": json.dumps([{"name": name, "hash": key} for name, key in models]),
        "clusters": json.dumps([{"name": name, "hash": key} for name, key in clusters]),
    }


def _row(trial: Trial) -> dict[str, Any]:
    row: dict[str, Any] = {name: storable_text(getattr(trial, name)) for name in TEXT_FIELDS}
    row |= {name: getattr(trial, name) for name in (*INTEGER_FIELDS, *SECONDS_AND_RATES, "exit_code", "simulated")}
    return row | {
        "strategy": None if trial.strategy is None else json_text(trial.strategy.to_json()),
        "step_times_s": trial.step_times_s,
        "bytes_sent": None if trial.bytes_sent is None else list(trial.bytes_sent.items()),
        "bytes_received": None if trial.bytes_received is None else list(trial.bytes_received.items()),
        "versions": list(trial.versions.items()),
        "losses": trial.losses,
        "events": [{name: getattr(e, name) for name in _EVENT_FIELDS} for e in trial.events],
    }


def _trial(row: dict[str, Any], strategies: dict[str, Strategy], where: str) -> Trial:
    text = row["strategy"]
    if text is not None and text not in strategies:
        strategies[text] = Strategy.loads(text, where=where)
    try:
        return Trial(
            **row
            | {
                "strategy": None if text is None else strategies[text],
                "step_times_s": tuple(map(tuple, row["step_times_s"])),
                "bytes_sent": None if row["bytes_sent"] is None else dict(row["bytes_sent"]),
                "bytes_received": None if row["bytes_received"] is None else dict(row["bytes_received"]),
                "versions": dict(row["versions"]),
                "losses": tuple(row["losses"]),
                "events": tuple(Event(**e) for e in row["events"]),
            }
        )
    except TypeError as error:
        raise InvalidInput(f"a trial in this file is damaged ({error})", where=where, received=row["id"]) from None


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "study") from None
    return pyarrow, pyarrow.parquet
