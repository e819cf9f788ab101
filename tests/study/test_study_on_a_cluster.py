"""A study of real trials."""

from pathlib import Path

import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.runtime import Progress, open_cluster
from autosync_lab.study import Study


@pytest.mark.cluster
def test_a_study_on_a_real_cluster_is_stopped_in_a_trial_and_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "t.db"

    with Study(load_model("ncf-small"), load_cluster("local-2"), store, steps=2) as study:

        def stop_in_the_second_proposal(progress: Progress) -> None:
            if progress.stage == "build" and len(study.trials) == 3:
                study.stop()

        study.run(3, 3, "random", "cost-model", ("ps", "horovod"), on_progress=stop_in_the_second_proposal)
        assert study.state == "stopped"
        assert [t.status for t in study.trials] == ["ok", "ok", "ok", "stopped"]

    with Study.open(store) as study, open_cluster(study.cluster) as runner:
        study.run(3, runner=runner, confirm=False)
        result = study.confirm(runner, repeats=1)
        assert study.state == "ended"
        assert [r.role for r in study.records] == [
            *["baseline"] * 2,
            *["proposal"] * 4,
            *["final"] * 5,
        ]
        measured = [r for r in study.records if r.trial.status == "ok"]
        assert len(measured) == 10
        assert all(r.trial.step_time_s > 0 and not r.trial.simulated for r in measured)
        assert result is not None
        assert result.ratio > 0
        assert not result.simulated
        assert all(r.predicted_s > 0 for r in study.records if r.role == "proposal")
