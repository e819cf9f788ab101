"""The page that `make class` serves: one document, the Explorer in it, and nothing of JupyterLab around it."""

import shutil

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NOTEBOOKS, SCREENSHOTS
from tests.browser.explorer_page import ExplorerPage
from tests.browser.lab_page import LabPage
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]


def test_the_explorer_fills_the_page_and_is_used_by_keyboard(lab: LabPage, lab_server: LabServer) -> None:
    shutil.copy(NOTEBOOKS / "class" / "explorer.ipynb", lab_server.root)
    lab.page.goto(f"{lab_server.url}/doc/tree/explorer.ipynb?reset&token={lab_server.token}")
    lab.wait_for_kernel()
    lab.command("notebook:run-all-cells")
    explorer = ExplorerPage(lab)
    expect(lab.page.locator("#jp-left-stack")).to_be_hidden()
    expect(lab.page.locator(".jp-CodeCell .jp-Editor, .jp-CodeCell .cm-content")).to_have_count(0)
    tab = explorer.box.get_by_role("tab").first
    tab.focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("Enter")
    expect(explorer.box.get_by_role("tab").nth(1)).to_have_attribute("aria-selected", "true")
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        lab.page.wait_for_timeout(700)
        lab.screenshot(SCREENSHOTS / f"class-{theme.lower()}.png")
