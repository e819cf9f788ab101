from pathlib import Path
from typing import Any

import pytest

from autosync_lab.errors import InvalidInput
from autosync_lab.study import Study
from autosync_widgets.panels.study_figures import PredictedVsMeasured, SearchProgress
from autosync_widgets.panels.study_panel import StudyPanel
from tests.study.fake_measuring import BASELINES, CLUSTER, MODEL, FakeRunner
from tests.widgets.search_study import searched


def test_a_stored_study_is_watched_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "trials.db"
    with searched(path) as study:
        panel = StudyPanel(path)
        assert (panel.study.name, panel.state.phase) == ("search", "ended")
        assert len(panel.state.points) == len(study.records)
        assert "Ended" in panel._view._status.value
        study.run(5, runner=FakeRunner())
        panel._follower.look()
        assert sum(p.role == "proposal" for p in panel.state.points) == 5
        assert len(panel.progress_figure().data) == len(panel._view.progress.spec["data"])
        assert len(panel.predictions_figure().data) > 0
        panel.close()
    with pytest.raises(InvalidInput, match="closed"):
        panel.study.events()


def test_the_best_strategy_is_exported_once_there_is_one() -> None:
    with Study(MODEL, CLUSTER, name="new") as study:
        panel = StudyPanel(study)
        with pytest.raises(InvalidInput, match="no trial has succeeded"):
            panel._view._best()
        study.run(1, 2, "random", "none", baselines=BASELINES, runner=FakeRunner())
        chosen = panel._view._best()
        assert study.best is not None
        assert (chosen.strategy, chosen.model) == (study.best.strategy, MODEL)
        assert chosen.label == f"best-{study.best.strategy_id}"
        panel.close()


def test_a_study_that_was_never_run_can_be_watched() -> None:
    with Study(MODEL, CLUSTER, name="new") as study:
        panel = StudyPanel(study)
        assert panel.state.phase == "new"
        assert "Nothing measured yet." in panel._view._status.value
        study.run(1, 2, "random", "none", baselines=BASELINES, runner=FakeRunner())
        panel._follower.look()
        assert "Ended" in panel._view._status.value
        assert "uses no simulator" in panel._view.predictions.spec["layout"]["annotations"][0]["text"]
        panel.close()
        assert study.events() != []


def test_a_name_that_is_not_there_is_an_error_with_the_choices(tmp_path: Path) -> None:
    path = tmp_path / "trials.db"
    searched(path).close()
    with pytest.raises(InvalidInput, match="did you mean 'search'"):
        StudyPanel(path, "serch")


@pytest.mark.parametrize("figure", [SearchProgress, PredictedVsMeasured])
def test_a_figure_alone_follows_a_study(figure: Any, tmp_path: Path) -> None:
    with searched(tmp_path / "trials.db") as study:
        shown = figure(study)
        before = shown.spec
        assert before["data"] != []
        study.run(4, runner=FakeRunner())
        shown._follower.look()
        assert shown.spec != before
        shown.close()
        assert study.records
    again = figure(tmp_path / "trials.db", "search")
    assert again.spec == shown.spec
    again.close()
