"""The end of a log."""

from pathlib import Path

TAIL_BYTES = 32_768


def log_tail(log: Path, lines: int) -> str:
    """The last lines of a file, out of its last `TAIL_BYTES`; empty if it cannot be read."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
