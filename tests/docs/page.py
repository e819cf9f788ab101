"""A page of Markdown: its code blocks, and its links."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md")))

RUN_LANGUAGES = ("sh", "python")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: (.+) -->\n+$")
WORKERS = re.compile(r"<!-- starts workers -->\n+$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMENT = re.compile(r"<!-- .* -->\n+$")


@dataclass(frozen=True)
class Block:
    """A code block.

    Parameters
    ----------
    language : str
    text : str
    line : int
        Of its first line of code; 1 is the page's first.
    not_run : str or None
        Why it is not run: what a comment before it says.
    workers : bool
        True if a comment says that it starts worker processes.
    """

    language: str
    text: str
    line: int
    not_run: str | None
    workers: bool


@dataclass(frozen=True)
class Page:
    """A file of Markdown."""

    path: Path

    @property
    def name(self) -> str:
        """Its path below the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its code blocks, in order."""
        found = []
        for match in FENCE.finditer(self.text):
            before = self.text[: match.start()]
            reason = NOT_RUN.search(before)
            line = before.count("\n") + 2
            workers = WORKERS.search(before) is not None
            found.append(Block(match[1], match[2], line, reason[1] if reason else None, workers))
        return tuple(found)

    @property
    def run(self) -> tuple[Block, ...]:
        """What is run of it."""
        return tuple(b for b in self.blocks if b.language in RUN_LANGUAGES and b.not_run is None)

    @property
    def not_run(self) -> tuple[Block, ...]:
        """What is not."""
        return tuple(b for b in self.blocks if b.not_run is not None)

    @property
    def links(self) -> tuple[str, ...]:
        """Where its links and images point to."""
        return tuple(LINK.findall(FENCE.sub("", self.text)))

    def script(self) -> str:
        """What is run, as a Python script whose line numbers are those of the page."""
        lines = [""] * (self.text.count("\n") + 1)
        for block in self.run:
            at = block.line - 1
            if block.language == "python":
                code = block.text.splitlines()
                lines[at : at + len(code)] = code
            else:
                lines[at] = f"__import__('subprocess').run(['sh', '-ec', {block.text!r}], check=True)"
        return "\n".join(lines)
