"""A search in a real page: started, paused, stopped, watched from a second kernel, and found again after a reload."""

import re
import shutil
import time

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import NOTEBOOKS, SCREENSHOTS
from tests.browser.explorer_page import ExplorerPage
from tests.browser.lab_page import LabPage
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

SEARCH = """
import time
from autosync_lab.simulator import VirtualRunner
from autosync_widgets import SearchPanel
at_once = VirtualRunner.measure
def slowly(*arguments, **settings):
    time.sleep(0.4)  # else it may have ended before anyone can pause it
    return at_once(*arguments, **settings)
VirtualRunner.measure = slowly
panel = SearchPanel("ncf-small", "emulated-hetero-4", "search.db", backend="simulate", n_trials=30)
panel
"""
WATCH = """
from autosync_widgets import StudyPanel
StudyPanel("search.db")
"""
EXPLORE = """
from autosync_widgets import Explorer
explorer = Explorer("vgg-mini", "emulated-4", ["ps", "all-reduce"])
explorer
"""

FIRST_PAINT_S = 10.0
"""Of an Explorer, with all that the machine has to do beside; alone it is below 3 seconds."""


def write(server: LabServer, name: str, *cells: str) -> str:
    """A notebook of these cells on the server."""
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in cells])
    document.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(document, server.root / name)
    return name


def panel_of(lab: LabPage) -> Locator:
    """The first panel of the page."""
    panel = lab.page.locator(".jp-OutputArea .autosync-lab-panel").first
    panel.wait_for(timeout=60_000)
    return panel


def status(panel: Locator) -> str:
    """The sentence beside the progress bar."""
    return panel.locator(".autosync-status").first.inner_text()


def points(panel: Locator) -> int:
    """Trials of strategies found that the first figure has drawn."""
    return int(
        panel.locator(".autosync-live-figure").first.evaluate(
            """plot => (plot.data ?? [])
                .filter(trace => trace.uid.startsWith('found-'))
                .reduce((sum, trace) => sum + trace.x.length, 0)"""
        )
    )


def pictures(lab: LabPage, what: Locator, name: str) -> None:
    """Keep pictures in both themes and at both widths."""
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        for width in (1280, 1920):
            lab.page.set_viewport_size({"width": width, "height": 1900})
            lab.page.wait_for_timeout(700)
            lab.screenshot(SCREENSHOTS / f"{name}-{theme.lower()}-{width}.png", what)


def test_a_search_is_started_stopped_goes_on_and_is_watched(lab: LabPage, lab_server: LabServer) -> None:
    (lab_server.root / "search.db").unlink(missing_ok=True)
    lab.open(write(lab_server, "search.ipynb", SEARCH))
    lab.run_cell(0)
    panel = panel_of(lab)
    # By keyboard: the button has the focus and Enter is pressed.
    panel.get_by_role("button", name="Start").focus()
    lab.page.keyboard.press("Enter")
    lab.until(lambda: points(panel) >= 1, "no trial appeared", timeout_s=90)
    panel.get_by_role("button", name="Pause").click()
    lab.until(lambda: "Paused" in status(panel), "it did not pause")
    lab.screenshot(SCREENSHOTS / "search-paused.png", panel)
    panel.get_by_role("button", name="Stop").click()
    lab.until(lambda: "Stopped" in status(panel), "it did not stop")
    expect(panel.get_by_role("button", name="Start")).to_be_enabled()
    panel.get_by_role("button", name="Start").click()
    lab.until(lambda: "Ended" in status(panel), "it did not end", timeout_s=120)
    lab.until(lambda: points(panel) == 30, "not every trial is drawn")
    assert "simulated" in panel.locator(".autosync-found").inner_text()
    pictures(lab, panel, "search")
    with lab.page.expect_download() as csv:
        panel.get_by_role("button", name="Trials as CSV").click()
    assert len(csv.value.path().read_text().splitlines()) > 30
    with lab.page.expect_download() as parquet:
        panel.get_by_role("button", name="Trials as Parquet").click()
    assert parquet.value.path().read_bytes().startswith(b"PAR1")
    figure = panel.locator(".autosync-live-figure").first
    figure.hover()
    with lab.page.expect_download() as png:
        figure.locator("[data-title='Download plot as a PNG']").click()
    assert png.value.path().read_bytes().startswith(b"\x89PNG")
    drawn = points(panel)
    lab.reload()
    lab.until(lambda: points(panel_of(lab)) == drawn, "the trials did not come back after a reload")

    lab.open(write(lab_server, "watch.ipynb", WATCH))
    lab.run_cell(0)
    watched = panel_of(lab)
    lab.until(lambda: points(watched) == 30, "the second kernel does not show the study")
    assert "Ended" in status(watched)


def test_the_explorer_paints_soon_and_opens_its_tabs(lab: LabPage, lab_server: LabServer) -> None:
    lab.open(write(lab_server, "explore.ipynb", "import autosync_widgets", EXPLORE))
    lab.run_cell(0)
    begin = time.monotonic()
    lab.run_cell(1)
    explorer = ExplorerPage(lab)
    expect(explorer.box.get_by_role("button", name="Launch")).to_be_visible()
    lab.page.locator(".autosync-explorer .autosync-live-figure.js-plotly-plot").first.wait_for()
    painted_s = time.monotonic() - begin
    print(f"first paint after {painted_s:.2f} s")
    assert painted_s < FIRST_PAINT_S
    for title in ("Model & cluster", "Space", "Search", "Timeline", "Strategy"):
        explorer.open_tab(title)
        expect(explorer.box.locator(".lm-mod-current[role=tab]")).to_have_text(title)
        figure = explorer.box.locator(".autosync-live-figure.js-plotly-plot:visible").first
        figure.wait_for(timeout=60_000)
        lab.page.wait_for_timeout(1500)
        pictures(lab, explorer.box, f"explorer-{re.sub('[^a-z]+', '-', title.lower())}")
    # Tabs by keyboard.
    explorer.box.locator(".lm-mod-current[role=tab]").focus()
    lab.page.keyboard.press("ArrowLeft")
    lab.page.keyboard.press("Enter")
    expect(explorer.box.locator(".lm-mod-current[role=tab]")).to_have_text("Timeline")


def test_the_notebook_of_a_live_search(lab: LabPage, lab_server: LabServer) -> None:
    shutil.copy(NOTEBOOKS / "04_live_search.ipynb", lab_server.root)
    lab.open("04_live_search.ipynb")
    lab.run_all()
    lab.wait_for_end(timeout_s=200)
    panel = panel_of(lab)
    lab.until(lambda: points(panel) == 40, "not every trial is drawn")
    lab.screenshot(SCREENSHOTS / "notebook-04.png")
