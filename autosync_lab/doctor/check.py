"""One finding."""

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Check:
    """One finding.

    Parameters
    ----------
    name : str
        What was looked at.
    status : {"ok", "warning", "missing"}
        "missing": something that measuring needs is not there. "warning": something is off, or a part that not
        everybody needs is not there.
    detail : str
        What was found.
    remedy : str
        The command, or the sentence, that mends it; empty if there is nothing to mend.
    """

    name: str
    status: Literal["ok", "warning", "missing"]
    detail: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document."""
        return asdict(self)
