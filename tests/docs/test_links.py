"""What the Markdown points to exists."""

import re

import pytest

from tests.docs.page import PAGES, ROOT, Page

PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")
"""A path in backquotes: with a slash in it."""

ROOTS = (ROOT, ROOT / "autosync_lab", ROOT / "widgets")
"""Where paths in the text begin."""

NOT_HERE = ("build/", "MODEL/")
"""What a command makes, and where a name stands for others."""

pages = pytest.mark.parametrize("page", [Page(path) for path in PAGES], ids=lambda page: page.name)


def anchors(page: Page) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pages
def test_links_lead_to_what_exists(page: Page) -> None:
    for link in page.links:
        assert "://" not in link, "pages link to what is in the repository"
        name, _, anchor = link.partition("#")
        target = (page.path.parent / name) if name else page.path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(Page(target)), link


@pages
def test_named_files_exist(page: Page) -> None:
    for name in PATH.findall(page.text):
        if not name.startswith(NOT_HERE):
            assert any((root / name).exists() for root in ROOTS), name


def test_every_page_is_linked_from_the_index() -> None:
    index = Page(ROOT / "docs" / "README.md")
    linked = {(index.path.parent / link.partition("#")[0]).resolve() for link in index.links}
    assert {p.resolve() for p in PAGES if p.parent != ROOT and p != index.path} <= linked
    assert "docs/README.md" in Page(ROOT / "README.md").links
