import psutil
import pytest

from tests.browser.conftest import SCREENSHOTS
from tests.browser.explorer_page import ExplorerPage
from tests.browser.lab_page import LabPage
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.cluster, pytest.mark.timeout(900)]

EXPLORER_CELLS = 6
"""Cells of the notebook up to the Explorer."""


def test_the_notebook_runs_and_the_explorer_measures_stops_and_survives_a_reload(
    lab: LabPage, lab_server: LabServer, first_trial: str
) -> None:
    lab.open(first_trial)
    lab.run_all()
    lab.wait_for_end(timeout_s=300)
    assert lab.page.locator(".jp-OutputArea table.dataframe").count() == 1
    assert lab.page.locator(".jp-OutputArea .jp-RenderedPlotly").count() == 1

    explorer = ExplorerPage(lab)
    explorer.choose_strategies("all-reduce", "ps")
    explorer.steps(6)
    explorer.click("Launch")
    lab.until(lambda: explorer.points >= 1, "no point appeared")
    early = explorer.share
    assert 0 < early < 1
    lab.until(lambda: explorer.share > early, "the progress bar did not move")
    explorer.wait_for_status("Ended: 2 measured.")
    lab.until(lambda: explorer.points == 12, "not all points appeared")
    assert explorer.markers == 12 + 2
    assert [row.split()[0] for row in explorer.rows()] == ["ps", "all-reduce"]

    explorer.steps(500)
    explorer.click("Launch")
    lab.until(lambda: explorer.points > 12, "no point of the second launch appeared")
    explorer.click("Stop")
    explorer.wait_for_status("Ended: 2 stopped.")
    points = explorer.points
    assert 12 < points < 500

    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        for width in (1280, 1920):
            lab.page.set_viewport_size({"width": width, "height": 1000})
            lab.page.wait_for_timeout(500)
            explorer.box.scroll_into_view_if_needed()
            lab.screenshot(SCREENSHOTS / f"explorer-{theme.lower()}-{width}.png")

    lab.reload()
    explorer = ExplorerPage(lab)
    lab.until(lambda: explorer.points == points, "the points did not come back after a reload")
    assert explorer.status == "Ended: 2 stopped."

    kernel = kernel_process(lab_server)
    workers = kernel.children(recursive=True)
    assert len(workers) >= 2
    lab.leave()
    for session in lab_server.api("sessions"):
        lab_server.api(f"sessions/{session['id']}", "DELETE")
    _, alive = psutil.wait_procs([kernel, *workers], timeout=20)
    assert alive == []


def test_mistakes_are_explained_in_the_widget(lab: LabPage, first_trial: str) -> None:
    lab.open(first_trial)
    lab.run_cells(EXPLORER_CELLS)
    explorer = ExplorerPage(lab)
    notices = explorer.box.locator(".autosync-notices")
    explorer.choose_strategies()
    explorer.click("Launch")
    lab.until(lambda: "Choose at least one strategy" in notices.inner_text(), "no strategy: not explained")
    explorer.choose_strategies("ps")
    explorer.steps(0)
    explorer.click("Launch")
    lab.until(lambda: "Steps must be between 1" in notices.inner_text(), "no step: not explained")
    explorer.steps(3)
    explorer.choose("Cluster", "cluster-a")
    explorer.click("Launch")
    lab.until(lambda: "Cluster cluster-a is not available" in notices.inner_text(), "no cluster: not explained")
    lab.screenshot(SCREENSHOTS / "explorer-notice.png")


def test_a_killed_worker_is_a_failed_trial_with_its_log_and_the_next_works(lab: LabPage, first_trial: str) -> None:
    lab.open(first_trial)
    lab.run_cells(EXPLORER_CELLS)
    explorer = ExplorerPage(lab)
    explorer.choose("Cluster", "local-2")
    explorer.choose_strategies("ps")
    explorer.steps(5000)
    explorer.click("Launch")
    lab.until(lambda: explorer.points >= 1, "no point appeared", timeout_s=120)
    lab.execute("import os, signal; os.kill(explorer.worker_pids[1], signal.SIGKILL)")
    explorer.wait_for_status("Ended: 1 failed.")
    failure = explorer.box.locator(".autosync-failure")
    lab.until(lambda: failure.count() == 1, "the failure is not listed")
    assert "ps failed in stage steps" in failure.inner_text()
    if failure.locator("summary").count():
        failure.locator("summary").click()
    explorer.steps(3)
    explorer.click("Launch")
    explorer.wait_for_status("Ended: 1 measured.")
    lab.screenshot(SCREENSHOTS / "explorer-failure.png", explorer.box)


def test_a_saved_notebook_shows_its_figure_without_its_kernel(
    lab: LabPage, lab_server: LabServer, first_trial: str
) -> None:
    lab.open(first_trial)
    lab.run_cells(EXPLORER_CELLS)
    explorer = ExplorerPage(lab)
    explorer.choose("Cluster", "local-2")
    explorer.choose_strategies("all-reduce")
    explorer.steps(4)
    explorer.click("Launch")
    explorer.wait_for_status("Ended: 1 measured.")
    lab.until(lambda: explorer.points == 4, "not all points appeared")
    lab.until(lambda: explorer.picture_is_new, "no picture was taken")
    lab.save()
    for session in lab_server.api("sessions"):
        lab_server.api(f"sessions/{session['id']}", "DELETE")
    lab.open(first_trial)
    explorer = ExplorerPage(lab)
    picture = explorer.box.locator(".autosync-picture svg")
    picture.first.wait_for()
    assert "all-reduce" in (picture.first.text_content() or "")
    assert explorer.markers == 4 + 1
    assert explorer.rows()[0].startswith("all-reduce measured")
    lab.screenshot(SCREENSHOTS / "explorer-reopened.png")


def kernel_process(server: LabServer) -> psutil.Process:
    """The only kernel of a server."""
    (kernel,) = [p for p in psutil.Process(server.pid).children() if "ipykernel_launcher" in " ".join(p.cmdline())]
    return kernel
