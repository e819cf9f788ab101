"""Files that commands write."""

from pathlib import Path

from autosync_lab.errors import AutoSyncLabError


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises
    ------
    AutoSyncLabError
        If the system refuses.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AutoSyncLabError(f"{path}: {error.strerror}") from error


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that is no text.

    Raises
    ------
    AutoSyncLabError
        If the system refuses.
    """
    try:
        path.write_bytes(data)
    except OSError as error:
        raise AutoSyncLabError(f"{path}: {error.strerror}") from error
