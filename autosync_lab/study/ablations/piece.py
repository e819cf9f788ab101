"""`Piece`: a part of an ablation that is made by itself."""

from collections.abc import Callable
from dataclasses import dataclass

from autosync_lab.study.ablations.comparison import Comparison


@dataclass(frozen=True)
class Piece:
    """A part of an ablation that is made by itself; pieces of an ablation are made in order.

    Parameters
    ----------
    what : str
        What is done, in words.
    seconds : float
        What it takes on two cores, roughly: how far all pieces are is counted in it.
    make : callable
        Does it; what was compared, if that is known now.
    """

    what: str
    seconds: float
    make: Callable[[], list[Comparison]]
