"""A study that a fake runner measures, and its records without running anything."""

import math
from typing import Any

from autosync_lab.study import Study
from autosync_lab.study.history import Role, StudyTrial
from tests.study.fake_measuring import BASELINES, CLUSTER, MODEL, FakeRunner, Script
from tests.study.trial_factory import make_trial


def searched(store: Any = None, n_trials: int = 3, script: Script | None = None, **settings: Any) -> Study:
    """A small study that has run."""
    study = Study(MODEL, CLUSTER, store, name="search")
    study.run(n_trials, 2, "random", "cost-model", baselines=BASELINES, runner=FakeRunner(script), **settings)
    return study


def study_record(
    number: int, seconds: float = 0.3, role: Role = "proposal", predicted_s: float = math.nan, **changes: Any
) -> StudyTrial:
    """One trial of a study."""
    times = () if changes.get("status", "ok") != "ok" else ((seconds, 0.0),)
    fields = {"label": "autosync", "step_times_s": times, "events": ()} | changes
    return StudyTrial(number, role, 0, make_trial(f"t{number}", **fields), predicted_s)
