"""A trial as a row of the store, and back."""

import json
import math
from collections.abc import Mapping
from typing import Any

from autosync_lab.runtime.trial import Event, Trial
from autosync_lab.strategy.spec import Strategy

TEXT_FIELDS = (
    "id",
    "created",
    "label",
    "model",
    "model_hash",
    "cluster",
    "cluster_hash",
    "launcher",
    "status",
    "stage",
    "optimizer",
    "error",
    "stderr_tail",
)
INTEGER_FIELDS = ("steps", "warmup", "seed", "batch_size")
SECONDS_AND_RATES = ("setup_s", "total_s", "bound_s", "learning_rate")
DERIVED_COLUMNS = ("strategy_id", "step_time_s", "step_time_q25_s", "step_time_q75_s")


def trial_to_row(trial: Trial) -> dict[str, Any]:
    """Column values of one trial."""
    low, high = trial.step_time_quartiles_s
    row: dict[str, Any] = {name: storable_text(getattr(trial, name)) for name in TEXT_FIELDS}
    row |= {name: int(getattr(trial, name)) for name in INTEGER_FIELDS}
    row |= {name: float(getattr(trial, name)) for name in SECONDS_AND_RATES}
    row |= {
        "simulated": int(trial.simulated),
        "exit_code": trial.exit_code,
        "strategy_id": trial.strategy_id,
        "step_time_s": trial.step_time_s,
        "step_time_q25_s": low,
        "step_time_q75_s": high,
        "step_times_s": json_text(trial.step_times_s),
        "bytes_sent": None if trial.bytes_sent is None else json_text(trial.bytes_sent),
        "bytes_received": None if trial.bytes_received is None else json_text(trial.bytes_received),
        "versions": json_text(trial.versions),
        "losses": json_text(trial.losses),
        "events": json_text([(e.worker, e.lane, e.name, e.start_s, e.end_s) for e in trial.events]),
    }
    return row


def trial_from_row(row: Mapping[str, Any], strategy: Strategy | None) -> Trial:
    """Inverse of `trial_to_row`."""
    fields: dict[str, Any] = {name: row[name] for name in (*TEXT_FIELDS, *INTEGER_FIELDS, "exit_code")}
    fields |= {name: _number(row[name]) for name in SECONDS_AND_RATES}
    return Trial(
        **fields,
        simulated=bool(row["simulated"]),
        strategy=strategy,
        step_times_s=tuple(tuple(_number(t) for t in step) for step in json.loads(row["step_times_s"])),
        bytes_sent=_bytes_by_node(row["bytes_sent"]),
        bytes_received=_bytes_by_node(row["bytes_received"]),
        versions=json.loads(row["versions"]),
        losses=tuple(_number(loss) for loss in json.loads(row["losses"])),
        events=tuple(
            Event(worker, lane, name, _number(start), _number(end))
            for worker, lane, name, start, end in json.loads(row["events"])
        ),
    )


def json_text(value: Any) -> str:
    """JSON text that SQLite's JSON functions accept: NaN is null, infinities are numbers beyond every double."""
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(float(value))
        return "null" if math.isnan(value) else "9e999" if value > 0 else "-9e999"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(str(k))}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value)


def storable_text(text: str) -> str:
    """Text that is UTF-8: what is none stands there as escapes."""
    # A log's tail may hold bytes that were no UTF-8 (lone surrogates): they must not cost the trial.
    return text.encode("utf-8", "backslashreplace").decode()


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _bytes_by_node(text: str | None) -> dict[str, float] | None:
    return None if text is None else {node: _number(n) for node, n in json.loads(text).items()}
