import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import ClusterUnavailable, InvalidInput
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator import Recipe, learn, save_knowledge
from autosync_lab.space.space import StrategySpace
from autosync_lab.study import Study
from autosync_widgets.panels.search_panel import SearchPanel
from autosync_widgets.search_request import SearchRequest, study_name
from tests.simulator.learned.cases import pair
from tests.study.fake_measuring import CLUSTER, MODEL, FakeRunner, failed


class Opened:
    """Clusters that a panel opened. `gate` holds every trial back until it is set."""

    def __init__(self) -> None:
        self.runners: list[FakeRunner] = []
        self.unavailable: Exception | None = None
        self.fails = False
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Semaphore(0)

    def open(self, cluster: ClusterSpec) -> FakeRunner:
        if self.unavailable is not None:
            raise self.unavailable
        self.runners.append(FakeRunner(self.script))
        return self.runners[-1]

    def script(self, runner: FakeRunner, trial: Trial) -> Trial:
        self.reached.release()
        assert self.gate.wait(20)
        return failed(trial) if self.fails and len(runner.labels) % 3 == 2 else trial


@pytest.fixture
def opened() -> Opened:
    return Opened()


@pytest.fixture
def make(opened: Opened) -> Iterator[Callable[..., SearchPanel]]:
    panels: list[SearchPanel] = []

    def make(store: Path | None = None, **choices: Any) -> SearchPanel:

        runnable = replace(MODEL, tracer=lambda: None)
        panels.append(SearchPanel(runnable, CLUSTER, store, **({"n_trials": 4} | choices), open_cluster=opened.open))
        return panels[-1]

    yield make
    opened.gate.set()
    for panel in panels:
        panel.close()


def click_start(panel: SearchPanel) -> None:
    """Click, and answer as the page does."""
    panel._start.click()
    trip = panel._round_trip
    trip._answer(trip, {"answer": trip._number}, [])


def looked(panel: SearchPanel) -> SearchPanel:
    """The panel, made to show the present state."""
    assert panel._follower is not None
    panel._follower.look()
    return panel


def test_a_search_runs_baselines_proposals_and_finals(make: Callable[..., SearchPanel], opened: Opened) -> None:
    panel = make()
    assert (panel._start.disabled, panel._stop.disabled, panel._pause.disabled) == (False, True, True)
    click_start(panel)
    assert panel.wait(60)
    roles = [p.role for p in panel.state.points]
    assert roles.count("proposal") == 4
    assert roles.index("baseline") < roles.index("proposal") < roles.index("final")
    assert panel.view._bar.value == 1.0
    assert "as fast as the best baseline" in panel.view._found.value or "No strategy found" in panel.view._found.value
    assert panel.best is not None
    assert opened.runners[0].closed
    assert (panel._start.disabled, panel._stop.disabled) == (False, True)
    assert panel.view.progress.spec["data"] != []
    assert "Ended" in panel.view._status.value


def test_the_kernel_stays_free_and_a_search_pauses_stops_and_goes_on(
    make: Callable[..., SearchPanel], opened: Opened, tmp_path: Path
) -> None:
    opened.gate.clear()
    panel = make(tmp_path / "trials.db")
    panel.start()
    assert opened.reached.acquire(timeout=30)
    assert panel._start.disabled
    with pytest.raises(InvalidInput, match="A search is running"):
        panel.start()
    assert "Baseline" in looked(panel).view._status.value
    panel.pause()
    opened.gate.set()
    while panel.state.phase != "paused":
        looked(panel)
    assert panel._pause.description == "Resume"
    panel._pause.click()
    panel.stop()
    assert panel.wait(30)
    assert panel.state.phase == "stopped"
    done = len(panel.state.points)
    assert "the next start goes on" in panel.view._status.value
    panel.start()
    assert panel.wait(60)
    assert panel.state.phase == "ended"
    with Study.open(tmp_path / "trials.db") as study:
        assert [r.number for r in study.records] == list(range(1, len(panel.state.points) + 1))
        assert len(study.records) > done


def test_a_study_without_a_store_goes_on_too(make: Callable[..., SearchPanel]) -> None:
    panel = make()
    panel.start()
    assert panel.wait(60)
    first = panel.study
    panel._trials.value = 5
    panel.start()
    assert panel.wait(60)
    assert panel.study is first
    assert sum(p.role == "proposal" for p in panel.state.points) == 5
    panel._algorithm.value = "random"
    panel.start()
    assert panel.wait(60)
    assert panel.study is not first
    assert panel.study is not None
    assert "random" in panel.study.name


def test_failed_trials_are_listed_and_the_search_goes_on(make: Callable[..., SearchPanel], opened: Opened) -> None:
    opened.fails = True
    panel = make()
    panel.start()
    assert panel.wait(60)
    assert panel.state.phase == "ended"
    listed = panel.view._failures.children
    assert len(listed) > 1
    assert "failed in stage build: worker 1 ended (exit code -9)" in listed[0].value


def test_mistakes_are_one_line_in_the_panel(make: Callable[..., SearchPanel], opened: Opened) -> None:
    panel = make()
    panel._trials.value = 0
    click_start(panel)
    assert "Trials must be between 1" in panel.view._notice.value
    panel._trials.value = 2
    opened.unavailable = ClusterUnavailable("no <namespaces>", stage="network", stderr_tail="EPERM & more")
    click_start(panel)
    assert panel.wait(60)
    assert "no &lt;namespaces&gt; (stage: network)" in panel.view._notice.value
    assert "EPERM &amp; more" in panel.view._notice.value
    assert not panel._start.disabled
    opened.unavailable = RuntimeError("nobody foresaw this")
    click_start(panel)
    assert panel.wait(60)
    assert "RuntimeError: nobody foresaw this" in panel.view._notice.value
    opened.unavailable = None
    click_start(panel)
    assert panel.wait(60)
    assert panel.view._notice.value == ""


def test_what_is_simulated_says_so_everywhere(make: Callable[..., SearchPanel], opened: Opened) -> None:
    panel = make(backend="simulate", n_trials=2)
    assert "nothing is measured" in panel._backend_words.value
    panel.start()
    assert panel.wait(60)
    assert opened.runners == []
    assert all(p.simulated for p in panel.state.points)
    assert panel.study is not None
    for words in (
        panel.study.name,
        panel.view._found.value,
        panel.view._status.value,
        panel.view._fastest.value,
        panel.view.progress.spec["layout"]["title"]["text"],
        panel.view.predictions.spec["layout"]["title"]["text"],
    ):
        assert "simulated" in words


def test_settings_name_the_study(make: Callable[..., SearchPanel]) -> None:
    panel = make()
    assert panel._name.placeholder == "small on two-nodes, autosync, gp"
    panel._lossy.value = True
    panel._simulator.value = "none"
    panel._backend.value = "simulate"
    assert panel._name.placeholder == "small on two-nodes, autosync, lossy, simulated"
    space = StrategySpace(MODEL, CLUSTER).lock("head/kernel", synchronizer="ar")
    assert study_name(MODEL, CLUSTER, "measure", "random", "none", False, space).endswith("random, 1 locked")
    panel.target(MODEL, CLUSTER, space)
    assert panel._backend.value == "simulate"
    assert panel._lossy.disabled
    assert not panel._lossy.value


def test_what_cannot_run_here_is_refused(make: Callable[..., SearchPanel]) -> None:

    with pytest.raises(InvalidInput, match="simulate it"):
        SearchRequest(MODEL, CLUSTER, "measure", "random", "none", 1, False, "a")
    with pytest.raises(InvalidInput, match="launcher slurm"):
        SearchRequest(MODEL, replace(CLUSTER, launcher="slurm"), "measure", "random", "none", 1, False, "a")
    with pytest.raises(InvalidInput, match="did you mean 'measure'"):
        make(backend="mesure")


def test_downloads_are_what_is_shown(make: Callable[..., SearchPanel]) -> None:
    import pandas
    import pyarrow.parquet

    panel = make(backend="simulate", n_trials=1)
    panel.start()
    assert panel.wait(60)
    view, count = panel.view, len(panel.state.points)
    assert len(pandas.read_csv(io.StringIO(view._csv().text))) == count
    assert pyarrow.parquet.read_table(io.BytesIO(view._parquet().content)).num_rows == count
    assert view._page().text.count('class="plotly-graph-div"') == 2
    json.dumps([view.progress.spec, view.predictions.spec], allow_nan=False)


def test_closing_ends_the_search(make: Callable[..., SearchPanel], opened: Opened) -> None:
    opened.gate.clear()
    panel = make()
    panel.start()
    assert opened.reached.acquire(timeout=30)
    panel.close()
    assert opened.runners[0].cancelled
    opened.gate.set()
    assert panel._thread.wait(30)
    assert opened.runners[0].closed
    assert panel.study is None
    with pytest.raises(InvalidInput, match="closed"):
        panel.start()


def test_a_saved_simulator_is_offered_and_used(make: Callable[..., SearchPanel], tmp_path: Path) -> None:
    path = tmp_path / "sim.npz"
    save_knowledge(learn([pair()], Recipe("linear")), path)
    panel = make(tmp_path / "trials.db", simulator=path)
    assert panel._simulator.value == str(path)
    assert {"cost-model", "none"} <= set(panel._simulator.options)
    click_start(panel)
    assert panel.wait(60)
    assert panel.state.phase == "ended"
    assert sum(p.role == "proposal" and p.predicted for p in panel.state.points) == 4


@pytest.mark.parametrize("damage", ["no such file", "damaged", "no file's name"])
def test_a_simulator_that_cannot_be_read_is_told_at_once(
    make: Callable[..., SearchPanel], tmp_path: Path, damage: str
) -> None:
    path = tmp_path / ("sim.npz" if damage != "no file's name" else "cost-mode")
    if damage == "damaged":
        path.write_bytes(b"PK no zip")
    with pytest.raises(InvalidInput):
        make(simulator=path.name if damage == "no file's name" else path)
