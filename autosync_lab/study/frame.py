"""A study as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autosync_lab.errors import MissingExtra
from autosync_lab.study.history import StudyTrial

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = {
    "number": "int64",
    "role": "str",
    "round": "int64",
    "label": "str",
    "status": "str",
    "simulated": "bool",
    "step_time_s": "float64",
    "step_time_q25_s": "float64",
    "step_time_q75_s": "float64",
    "predicted_s": "float64",
    "bound_s": "float64",
    "setup_s": "float64",
    "total_s": "float64",
    "stage": "str",
    "error": "str",
    "created": "str",
    "strategy_id": "str",
    "trial_id": "str",
}


def study_frame(records: Sequence[StudyTrial]) -> "pd.DataFrame":
    """One row per trial, in order.

    Raises
    ------
    MissingExtra
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "study") from None
    rows = []
    for record in records:
        trial = record.trial
        low, high = trial.step_time_quartiles_s
        rows.append(
            (
                record.number,
                record.role,
                record.round,
                trial.label,
                trial.status,
                trial.simulated,
                trial.step_time_s,
                low,
                high,
                record.predicted_s,
                trial.bound_s,
                trial.setup_s,
                trial.total_s,
                trial.stage,
                trial.error,
                trial.created,
                trial.strategy_id,
                trial.id,
            )
        )
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
    created = pandas.to_datetime(frame["created"], utc=True, format="ISO8601", errors="coerce")
    frame["created"] = created.astype("datetime64[us, UTC]")
    return frame
