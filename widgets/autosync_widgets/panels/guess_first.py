"""`GuessFirst`: the reader commits to a guess before a reveal."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import ipywidgets

from autosync_lab.errors import InvalidInput
from autosync_widgets.panels.panel import Panel, button, notice, row, text
from autosync_widgets.round_trip import RoundTrip

Answer = str | float


class GuessFirst(Panel):
    """A question, a guess that cannot be taken back, and then the answer.

    Parameters
    ----------
    question : str
    answer : str, float or callable
        What is right: one of the options, or a number. A callable is asked when the reader has committed, so what takes
        time may be computed then.
    options : sequence of str, optional
        What to choose from; a number is asked for if None.
    unit : str
        Of the number.
    reveal : str, Widget or callable, optional
        What is shown after the guess, below the answer. A callable is asked when the reader has committed.

    Attributes
    ----------
    committed : str, float or None
        The guess; None before.

    Raises
    ------
    InvalidInput
        If there are fewer than two options, or the answer is none of them.

    Examples
    --------
    >>> GuessFirst("Which is faster?", "all-reduce", ["ps", "all-reduce"])  # doctest: +SKIP
    """

    def __init__(
        self,
        question: str,
        answer: Answer | Callable[[], Answer],
        options: Sequence[str] | None = None,
        *,
        unit: str = "",
        reveal: Any = None,
    ) -> None:
        if options is not None and len(options) < 2:
            raise InvalidInput("a guess is among two or more options", where="options", received=list(options))
        if options is not None and not callable(answer) and answer not in options:
            raise InvalidInput("the answer is one of the options", where="answer", received=answer, valid=options)
        self._answer, self._reveal, self._unit = answer, reveal, unit
        self._options = None if options is None else tuple(options)
        self.committed: Answer | None = None
        self._field = _field(options, unit)
        self._commit = button("Commit to this guess", "Show the answer. The guess can then no longer be changed.")
        # A click may overtake the choice it is for.
        self._round_trip = RoundTrip()
        self._commit.on_click(lambda _: self._round_trip.then(self.commit))
        self._verdict = text("autosync-verdicts")
        self._below = ipywidgets.VBox()
        controls = row(self._field, self._commit) if options is None else ipywidgets.VBox([self._field, self._commit])
        box = ipywidgets.VBox([text("autosync-question", f"<b>Guess first.</b> {escape(question)}"), controls])
        box.add_class("autosync-guess")
        super().__init__([box, self._verdict, self._below])

    def commit(self, guess: Answer | None = None) -> None:
        """Commit to what is chosen, or to `guess`, as the button does; only the first time counts.

        Raises
        ------
        InvalidInput
            If `guess` is none of the options.
        """
        if self.committed is not None:
            return
        if guess is not None and self._options is not None and guess not in self._options:
            raise InvalidInput("a guess is one of the options", received=guess, valid=self._options)
        chosen = guess if guess is not None else self._chosen()
        if chosen is None:
            self._verdict.value = notice(
                "Choose an answer first." if self._options is not None else "Write a number first, such as 2.5."
            )
            return
        self.committed = chosen
        self._field.value = chosen if self._options is not None else f"{chosen:g}"
        self._field.disabled = self._commit.disabled = True
        right = self._answer() if callable(self._answer) else self._answer
        self._verdict.value = (
            f'<div class="autosync-verdict" role="status">{escape(verdict(chosen, right, self._unit))}</div>'
        )
        shown = self._reveal() if callable(self._reveal) else self._reveal
        if isinstance(shown, str):
            shown = text("autosync-facts", escape(shown))
        if shown is not None:
            self._below.children = [shown]

    def _chosen(self) -> Answer | None:
        if self._options is not None or not self._field.value:
            return self._field.value or None
        try:
            number = float(self._field.value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None


def verdict(guess: Answer, right: Answer, unit: str = "") -> str:
    """How good a guess was, in words."""
    if isinstance(guess, str) or isinstance(right, str):
        return f"Right: {right}." if guess == right else f"You guessed: {guess}. The answer is: {right}."
    said, true = f"You guessed {guess:.3g}{unit and f' {unit}'}", f"it is {right:.3g}{unit and f' {unit}'}"
    if guess > 0 and right > 0:
        factor = max(guess / right, right / guess)
        if factor < 1.1:
            return f"{said}, and {true}: as good as right."
        times = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"
        return f"{said}; {true}. You were off by a factor of {times}."
    if math.isclose(guess, right, abs_tol=1e-12):
        return f"{said}, and that is right."
    return f"{said}; {true}."


def _field(options: Sequence[str] | None, unit: str) -> ipywidgets.ValueWidget:
    tooltip = "Your guess. It counts once you commit to it."
    if options is not None:
        return ipywidgets.RadioButtons(options=list(options), value=None, tooltip=tooltip, layout={"width": "auto"})
    return ipywidgets.Text(
        placeholder="a number",
        description=f"Your guess{unit and f' ({unit})'}",
        tooltip=tooltip,
        style={"description_width": "initial"},
        layout={"width": "260px"},
    )
