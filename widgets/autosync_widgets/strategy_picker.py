"""`StrategyPicker`: choose strategies from a grid of check boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anywidget
import traitlets

from autosync_widgets.colours import look_of
from autosync_widgets.marker import marker_svg

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class StrategyOption:
    """One strategy to choose.

    Parameters
    ----------
    name : str
    sentence : str
        What it does, in one sentence.
    lossy : bool
        True if it changes training results.
    source : str
        Where it was published.
    """

    name: str
    sentence: str
    lossy: bool = False
    source: str = ""


class StrategyPicker(anywidget.AnyWidget):
    """A grid of check boxes, each with its marker in the figures and a sentence that is shown when it has the focus.

    Parameters
    ----------
    options : sequence of StrategyOption
    chosen : sequence of str
        Names that are chosen at first.

    Attributes
    ----------
    chosen : list of str
        Names that are chosen now, in the order of the options.
    """

    _esm = _HERE / "strategy_picker.js"
    _css = _HERE / "strategy_picker.css"
    options = traitlets.List().tag(sync=True)
    chosen = traitlets.List(traitlets.Unicode()).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(self, options: Sequence[StrategyOption], chosen: Sequence[str] = ()) -> None:
        super().__init__(options=[_as_data(o) for o in options], chosen=list(chosen))


def _as_data(option: StrategyOption) -> dict[str, object]:
    look = look_of(option.name)
    if option.lossy:
        look = look.hollow()
    return {
        "name": option.name,
        "sentence": option.sentence,
        "lossy": option.lossy,
        "source": option.source,
        "marker": marker_svg(look),
    }
