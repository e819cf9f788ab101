"""Every command and every line of Python in the Markdown is run, page by page, or says why it is not."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from autosync_lab.cli.app import _parser
from tests.docs.page import COMMENT, FENCE, NOT_RUN, PAGES, WORKERS, Block, Page

REASONS = (
    "sets up everything",
    "takes minutes",
    "takes hours",
    "needs files of your own",
    "serves until it is stopped",
    "other tests run it",
)

TIMEOUT_S = 150


def page_params() -> list[object]:
    """Pages with something to run; those that start workers are marked."""
    pages = [page for page in map(Page, PAGES) if page.run]
    return [
        pytest.param(page, id=page.name, marks=[pytest.mark.cluster] if any(b.workers for b in page.run) else [])
        for page in pages
    ]


def not_run_params() -> list[object]:
    """Blocks that are not run; the reason is in the test's name."""
    return [
        pytest.param(block, id=f"{page.name}:{block.line}: {block.not_run}")
        for page in map(Page, PAGES)
        for block in page.not_run
    ]


@pytest.mark.parametrize("page", page_params())
def test_a_page_runs_from_top_to_bottom(page: Page, tmp_path: Path) -> None:
    script = tmp_path / f"{page.path.stem}.py"
    script.write_text(page.script(), encoding="utf-8")
    folder = tmp_path / "reader"
    folder.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, f"{page.name}:\n{done.stdout[-5000:]}"


@pytest.mark.parametrize("block", not_run_params())
def test_what_is_not_run_says_why_and_would_be_understood(block: Block) -> None:
    assert block.not_run in REASONS
    if block.language == "python":
        compile(block.text, "block", "exec")
        return
    for line in block.text.splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program == "autosync-lab":
            # Raises InvalidInput where a command or an argument does not exist.
            _parser().parse_args(words)


def test_comments_before_blocks_are_known() -> None:
    """A comment that is misspelt would let a block run, or hide that it starts workers."""
    for page in map(Page, PAGES):
        for match in FENCE.finditer(page.text):
            before = page.text[: match.start()]
            if COMMENT.search(before):
                assert NOT_RUN.search(before) or WORKERS.search(before), before[-80:]
