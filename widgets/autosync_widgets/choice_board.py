"""`ChoiceBoard`: the choices of one variable, why some are pruned, and which are locked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from autosync_widgets.figures.space_choices import ASPECTS, AspectChoices, Choice, VariableChoices
from autosync_widgets.figures.space_stages import LOCK
from autosync_widgets.wording import bytes_text

_HERE = Path(__file__).parent


class ChoiceBoard(anywidget.AnyWidget):
    """One button for each choice that is valid; pressed if it is locked, struck through if it is pruned.

    Parameters
    ----------
    on_choice : callable
        Called with the variable's name, and with what `StrategySpace.lock` takes for the choice that was clicked.
    on_unlock : callable
        Called with the variable's name when all its locks are to go.
    """

    _esm = _HERE / "choice_board.js"
    _css = _HERE / "choice_board.css"
    board = traitlets.Dict().tag(sync=True)

    def __init__(self, on_choice: Callable[[str, dict[str, Any]], None], on_unlock: Callable[[str], None]) -> None:
        super().__init__()
        self._choices: VariableChoices | None = None
        self._on_choice, self._on_unlock = on_choice, on_unlock
        self.on_msg(self._hear)

    def show(self, choices: VariableChoices | None) -> None:
        """Show the choices of another variable, or of none; callable from any thread."""
        self._choices = choices
        self.board = {} if choices is None else _board_data(choices)

    def _hear(self, _: Any, content: dict[str, Any], _buffers: Any) -> None:
        shown = self._choices
        if shown is None or content.get("variable") != shown.variable.name:
            return
        if content.get("say") == "unlock":
            self._on_unlock(shown.variable.name)
        elif content.get("say") == "choose":
            aspect = next((a for a in shown.aspects if a.aspect == content.get("aspect")), None)
            choice = next((c for c in aspect.choices if c.text == content.get("choice")), None) if aspect else None
            if choice is not None and choice.lock:
                self._on_choice(shown.variable.name, dict(choice.lock))


def _board_data(choices: VariableChoices) -> dict[str, Any]:
    variable = choices.variable
    shape = " x ".join(map(str, variable.shape)) or "one number"
    facts = f"{shape}, {variable.dtype}, {bytes_text(variable.nbytes)}"
    if variable.sparse:
        facts += f"; sparse: a step touches {bytes_text(variable.gradient_nbytes)} of it"
    return {"variable": variable.name, "facts": f"{facts}.", "aspects": [_aspect_data(a) for a in choices.aspects]}


def _lockable(choice: Choice) -> bool:
    """True if it can be chosen: also in place of what is locked."""
    return bool(choice.lock) and choice.pruned_by in ("", LOCK)


def _aspect_data(aspect: AspectChoices) -> dict[str, Any]:
    left = sum(not c.pruned_by for c in aspect.choices)
    return {
        "name": aspect.aspect,
        "meaning": ASPECTS[aspect.aspect],
        "count": f"{left} of {len(aspect.choices)} left",
        "note": aspect.note,
        "choices": [
            {"text": c.text, "by": c.pruned_by, "locked": c.locked, "lockable": _lockable(c)} for c in aspect.choices
        ],
        "reasons": [
            {"by": name, "why": why, "count": sum(c.pruned_by == name for c in aspect.choices)}
            for name, why in aspect.reasons
        ],
    }
