"""Studies and what they leave behind: trials in a file that several programs can read.

Names are imported on first use: a store needs neither the space nor a search.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autosync_lab.study.event import StudyEvent as StudyEvent
    from autosync_lab.study.failures import TrialsFailing as TrialsFailing
    from autosync_lab.study.history import DriftPoint as DriftPoint
    from autosync_lab.study.history import StudyTrial as StudyTrial
    from autosync_lab.study.parquet import export_trials as export_trials
    from autosync_lab.study.parquet import import_trials as import_trials
    from autosync_lab.study.speedup import Speedup as Speedup
    from autosync_lab.study.store import TrialStore as TrialStore
    from autosync_lab.study.study import Study as Study

_HOME = {
    "DriftPoint": "history",
    "Speedup": "speedup",
    "Study": "study",
    "StudyEvent": "event",
    "StudyTrial": "history",
    "TrialStore": "store",
    "TrialsFailing": "failures",
    "export_trials": "parquet",
    "import_trials": "parquet",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"autosync_lab.study.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'autosync_lab.study' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
