"""`RoundTrip`: act on a click only when the page's earlier changes are here."""

from collections.abc import Callable
from typing import Any

import anywidget


class RoundTrip(anywidget.AnyWidget):
    """Does something after the page has answered once.

    A page sends at most one change of a widget at a time and holds further ones back until the kernel has handled it,
    but a click it sends at once. So a click can overtake the choice it was meant for, by milliseconds, or by minutes
    where the kernel is busy with a cell. Whatever the page held back is sent before it answers a message that the
    kernel sends when it handles the click.

    The widget is nothing to look at: it need not be displayed.
    """

    _esm = """
    export default {
      initialize({ model }) {
        model.on("msg:custom", (message) => model.send({ answer: message.number }));
      },
    };
    """

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._action: Callable[[], None] | None = None
        self.on_msg(self._answer)

    def then(self, action: Callable[[], None]) -> None:
        """Do `action` when the page has answered; a later call replaces it."""
        self._number += 1
        self._action = action
        self.send({"number": self._number})

    def _answer(self, _: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("answer") == self._number and self._action is not None:
            action, self._action = self._action, None
            action()
