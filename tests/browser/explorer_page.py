"""The Explorer in a page, as its user sees it."""

from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage


class ExplorerPage:
    """Drives the first Explorer of a page."""

    def __init__(self, lab: LabPage) -> None:
        self.lab = lab
        self.box: Locator = lab.page.locator(".jp-OutputArea .autosync-explorer").first
        self.box.wait_for(timeout=90_000)
        self.box.scroll_into_view_if_needed()

    def open_tab(self, title: str) -> None:
        """Click a tab."""
        self.box.get_by_role("tab", name=title, exact=True).click()

    def choose_strategies(self, *names: str) -> None:
        """Choose these strategies and no others."""
        self.box.get_by_role("button", name="none").click()
        for name in names:
            self.box.get_by_role("checkbox", name=name, exact=True).check()

    def choose(self, label: str, option: str) -> None:
        """Choose a model or a cluster."""
        self.box.get_by_label(label).select_option(option)

    def steps(self, count: int) -> None:
        """Type a number of steps."""
        field = self.box.get_by_label("Timed steps")
        field.fill(str(count))
        field.press("Tab")

    def click(self, name: str) -> None:
        """Click a button, once it can be clicked."""
        button = self.box.get_by_role("button", name=name)
        expect(button).to_be_enabled(timeout=60_000)
        button.click()

    @property
    def status(self) -> str:
        """The sentence beside the progress bar."""
        return self.box.locator(".autosync-status").inner_text()

    @property
    def share(self) -> float:
        """How far the progress bar is, in [0, 1]."""
        style = self.box.locator(".progress-bar").get_attribute("style") or ""
        return float(style.split("width:")[1].split("%")[0]) / 100

    @property
    def points(self) -> int:
        """Timed steps that the figure has drawn."""
        return int(
            self.box.locator(".autosync-live-figure").evaluate(
                """plot => (plot.data ?? [])
                    .filter(trace => trace.uid.startsWith('points-'))
                    .reduce((sum, trace) => sum + trace.x.length, 0)"""
            )
        )

    @property
    def markers(self) -> int:
        """Markers in the drawn figure: timed steps and medians."""
        return self.box.locator(".autosync-live-figure .scatterlayer .points path").count()

    @property
    def picture_is_new(self) -> bool:
        """True if the picture that a saved notebook keeps shows what is drawn."""
        return bool(
            self.box.locator(".autosync-live-figure").evaluate(
                "plot => plot.dataset.drawn !== undefined && plot.dataset.kept === plot.dataset.drawn"
            )
        )

    def rows(self) -> list[str]:
        """Rows of the table of results, as text."""
        return [" ".join(row.split()) for row in self.box.locator(".autosync-results tbody tr").all_inner_texts()]

    def wait_for_status(self, words: str, timeout_s: float = 120) -> None:
        """Wait until the status has these words."""
        try:
            self.lab.until(lambda: words in self.status, "", timeout_s)
        except AssertionError:
            notice = self.box.locator(".autosync-notices").inner_text()
            raise AssertionError(f"the status is {self.status!r} and not {words!r}; {notice}") from None
