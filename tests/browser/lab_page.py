"""JupyterLab in a browser page, driven as a person would, and watched for everything that goes wrong in it."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, Response, expect

from tests.browser.lab_server import LabServer

KNOWN_NOISE = (
    # Chromium's software renderer speaks of its own slowness when a figure uses WebGL.
    re.compile(r"GL Driver Message .*GPU stall due to ReadPixels"),
)
"""Console messages that are nobody's fault."""

SESSION_IS_READY = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    const session = panel?.sessionContext;
    return !!session?.isReady && session.session?.kernel?.connectionStatus === 'connected'
        && session.session.kernel.status === 'idle';
}"""


class LabPage:
    """One page of JupyterLab.

    Parameters
    ----------
    page : Page
        A new page; what goes wrong in it is kept in `problems`.
    server : LabServer
    """

    def __init__(self, page: Page, server: LabServer) -> None:
        self.page = page
        self.server = server
        self.problems: list[str] = []
        self._leaving = False
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", self._hear)
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)

    def open(self, notebook: str) -> None:
        """Open a notebook alone in the page and wait for its kernel."""
        self.page.goto(f"{self.server.url}/lab/tree/{notebook}?reset&token={self.server.token}")
        self.wait_for_kernel()

    def reload(self) -> None:
        """Save the notebook and load the page again; the kernel goes on."""
        self.save()
        self._leaving = True
        self.page.reload()
        self._leaving = False
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        """Wait until the notebook's kernel has been connected and idle for one second."""
        since = None
        deadline = time.monotonic() + 60
        while since is None or time.monotonic() - since < 1.0:
            assert time.monotonic() < deadline, "the kernel did not become idle"
            ready = self.page.evaluate(SESSION_IS_READY)
            since = (since or time.monotonic()) if ready else None
            self.page.wait_for_timeout(100)

    def command(self, name: str, **arguments: Any) -> None:
        """Execute one of JupyterLab's commands."""
        self.page.evaluate("([name, args]) => window.jupyterapp.commands.execute(name, args)", [name, arguments])

    def run_all(self) -> None:
        """Run all cells; returns when the first one has begun."""
        first = self.page.locator(".jp-CodeCell .jp-InputPrompt").first
        for _ in range(3):
            self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
            try:
                expect(first).to_have_text(re.compile(r"\[(\*|\d+)\]"), timeout=4000)
                return
            except AssertionError:
                continue
        raise AssertionError("no cell began to run")

    def run_cells(self, count: int) -> None:
        """Run the first `count` cells, one after the other, each to its end."""
        for index in range(count):
            self.run_cell(index)

    def run_cell(self, index: int) -> None:
        """Run the cell at `index`, to its end."""
        self.page.evaluate(
            """async (index) => {
                const { content } = window.jupyterapp.shell.currentWidget;
                content.activeCellIndex = index;
                content.deselectAll();
                await window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            index,
        )
        self.fail_on_error_output()

    def execute(self, code: str) -> None:
        """Run code in the kernel beside the notebook's cells."""
        self.page.evaluate(
            """async (code) => {
                const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                await kernel.requestExecute({ code, store_history: false }).done;
            }""",
            code,
        )

    def wait_for_end(self, timeout_s: float) -> None:
        """Wait until no cell runs or waits."""
        deadline = time.monotonic() + timeout_s
        while any("*" in text for text in self.page.locator(".jp-InputPrompt").all_inner_texts()):
            self.fail_on_error_output()
            assert time.monotonic() < deadline, "cells are still running"
            self.page.wait_for_timeout(300)
        self.fail_on_error_output()

    def fail_on_error_output(self) -> None:
        """Fail if a cell has put out an error."""
        errors = self.page.locator(".jp-OutputArea [data-mime-type='application/vnd.jupyter.error']")
        assert errors.count() == 0, errors.first.inner_text()

    def theme(self, name: str) -> None:
        """Switch to a theme."""
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def save(self) -> None:
        """Save the notebook."""
        self.command("docmanager:save")

    def until(self, what: Callable[[], bool], message: str, timeout_s: float = 60.0) -> None:
        """Wait until `what()` is true."""
        deadline = time.monotonic() + timeout_s
        while not what():
            assert time.monotonic() < deadline, message
            self.page.wait_for_timeout(100)

    def screenshot(self, path: Path, what: Locator | None = None) -> None:
        """Keep a picture of the page, or of one element."""
        path.parent.mkdir(parents=True, exist_ok=True)
        (what or self.page).screenshot(path=path)

    def leave(self) -> None:
        """Leave the page without asking to save."""
        self._leaving = True
        self.page.goto("about:blank")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(noise.search(message.text) for noise in KNOWN_NOISE):
            self.problems.append(f"console error: {message.text} ({message.location.get('url', '')})")

    def _failed(self, request: Request) -> None:
        # What is under way when a page is left is cut off; that is no failure.
        if not self._leaving:
            self.problems.append(f"failed request: {request.method} {request.url} ({request.failure})")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"HTTP {response.status}: {response.request.method} {response.url}")
