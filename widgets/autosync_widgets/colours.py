"""One colour and one marker per kind of strategy, with the same meaning in every figure.

The colour says how gradients travel, the marker which builder it is, and a hollow marker that training results change.
Colours keep a contrast of at least 3:1 against the light and the dark background of JupyterLab (WCAG 2.2, criterion
1.4.11) and stay apart in the three forms of colour blindness.
"""

from dataclasses import dataclass

from autosync_lab.strategy.spec import Strategy

SERVER = "#0072B2"
ALL_REDUCE = "#D06000"
MIXED = "#0A9A5A"
PEER = "#B0589B"
OWN = "#7449F2"
LIMIT = "#7A7A7A"
"""Lines that are no strategy: bounds."""
SIZE = "#A05030"
"""Amounts that are no strategy's: bytes of variables, numbers of strategies."""

MEANINGS = {
    "parameter server": SERVER,
    "all-reduce": ALL_REDUCE,
    "both, by variable": MIXED,
    "peer": PEER,
    "your own": OWN,
    "bound": LIMIT,
    "size": SIZE,
}
"""What each colour means, in words for a legend."""


@dataclass(frozen=True)
class Look:
    """How a strategy is drawn: colour (hex) and plotly marker symbol."""

    colour: str
    symbol: str

    def hollow(self) -> "Look":
        """The same marker, not filled: training results change."""
        return Look(self.colour, f"{self.symbol.removesuffix('-open')}-open")


_BUILDERS = {
    "ps": Look(SERVER, "circle"),
    "ps-load-balanced": Look(SERVER, "square"),
    "partitioned-ps": Look(SERVER, "triangle-up"),
    "uneven-partitioned-ps": Look(SERVER, "triangle-down"),
    "all-reduce": Look(ALL_REDUCE, "circle"),
    "partitioned-all-reduce": Look(ALL_REDUCE, "triangle-up"),
    "horovod": Look(ALL_REDUCE, "diamond"),
    "horovod-fp16": Look(ALL_REDUCE, "diamond"),
    "parallax": Look(MIXED, "circle"),
    "byteps": Look(SERVER, "star"),
    "poseidon": Look(MIXED, "star"),
    "horovod-autotune": Look(PEER, "diamond"),
    "multi-worker-mirrored": Look(PEER, "circle"),
}


def look_of(label: str, strategy: Strategy | None = None) -> Look:
    """The look of a strategy: its builder's, or that of the user's own strategies.

    Parameters
    ----------
    label : str
        Name of a builder or a peer, or any other name.
    strategy : Strategy, optional
        Makes the marker hollow if it changes training results.
    """
    look = _BUILDERS.get(label, Look(OWN, "circle"))
    if strategy is not None and not strategy.lossless:
        return look.hollow()
    return look
