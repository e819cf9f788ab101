"""Reading a strategy from a file, in any form that is known here."""

from pathlib import Path

from autosync_lab.errors import InvalidStrategy
from autosync_lab.strategy.autodist.read import read_autodist_strategy
from autosync_lab.strategy.spec import Strategy
from autosync_lab.user_file import read_text_file

MAX_FILE_BYTES = 64 << 20

AUTODIST_BEGINS = (b"\x0a", b"\x12", b"\x1a")
"""First bytes of AutoDist's files: the tags of `id`, `path` and `node_config`. The first one is a line feed as well."""


def read_strategy(path: Path) -> Strategy:
    """The strategy of a JSON file, or of an AutoDist file.

    Raises
    ------
    InvalidStrategy
        If it cannot be read, or is neither.
    """
    return read_autodist_strategy(path).strategy if _is_autodist(path) else _read_json(path)


def _is_autodist(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(1000)
    except (OSError, ValueError):
        return False
    return head.startswith(AUTODIST_BEGINS) and not head.lstrip().startswith(b"{")


def _read_json(path: Path) -> Strategy:
    text = read_text_file(path, MAX_FILE_BYTES, "a strategy file", InvalidStrategy)
    return Strategy.loads(text, where=str(path))
