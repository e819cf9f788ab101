import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.lab_page import LabPage
from tests.browser.lab_server import LabServer

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"

CHROMIUM_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "browser tests need Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with LabServer(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
def new_page(browser: Browser, lab_server: LabServer) -> Iterator[Callable[[], LabPage]]:
    """Makes pages of JupyterLab in which nothing may go wrong; their kernels end with the test."""
    pages: list[LabPage] = []

    def make() -> LabPage:
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        pages.append(LabPage(context.new_page(), lab_server))
        return pages[-1]

    yield make
    for page in pages:
        page.leave()
        page.page.context.close()
    for session in lab_server.api("sessions"):
        lab_server.api(f"sessions/{session['id']}", "DELETE")
    assert [problem for page in pages for problem in page.problems] == []


@pytest.fixture
def lab(new_page: Callable[[], LabPage]) -> LabPage:
    """One page of JupyterLab in which nothing may go wrong."""
    return new_page()


@pytest.fixture
def first_trial(lab_server: LabServer) -> str:
    """A fresh copy of the first notebook: its path on the server."""
    shutil.copy(NOTEBOOKS / "01_first_trial.ipynb", lab_server.root)
    return "01_first_trial.ipynb"
