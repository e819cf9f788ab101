"""`DownloadButton`: a click makes a file and hands it to the browser."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anywidget
import traitlets

from autosync_lab.errors import AutoSyncLabError


@dataclass(frozen=True)
class TextFile:
    """A file to download: its name, its text, and its media type."""

    name: str
    text: str
    media_type: str

    @property
    def content(self) -> bytes:
        """The text, encoded."""
        return self.text.encode()


@dataclass(frozen=True)
class BytesFile:
    """A file to download: its name, its bytes, and its media type."""

    name: str
    content: bytes
    media_type: str


class DownloadButton(anywidget.AnyWidget):
    """A button; the file is made when it is clicked, so that it shows what is chosen then.

    Parameters
    ----------
    label : str
    tooltip : str
    make : callable
        Returns the file. What it raises on purpose is told.
    tell : callable, optional
        Gets why there is no file, and "" when there is one; the words stand beside the button if None.
    """

    _esm = """
    export default {
      render({ model, el }) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "lm-Widget jupyter-widgets jupyter-button widget-button autosync-download";
        const said = document.createElement("span");
        said.setAttribute("role", "status");
        const draw = () => {
          button.textContent = model.get("label");
          button.title = model.get("explanation");
        };
        const receive = (message, buffers) => {
          said.textContent = message.error ? ` ${message.error}` : "";
          if (message.say !== "file" || !button.dataset.waits) return;
          delete button.dataset.waits;
          const address = URL.createObjectURL(new Blob([buffers[0]], { type: message.type }));
          const link = document.createElement("a");
          link.href = address;
          link.download = message.name;
          link.click();
          setTimeout(() => URL.revokeObjectURL(address), 10000);
        };
        button.addEventListener("click", () => {
          button.dataset.waits = "yes";
          model.send({ say: "make" });
        });
        model.on("msg:custom", receive);
        model.on("change:label change:explanation", draw);
        draw();
        el.append(button, said);
        return () => {
          model.off("msg:custom", receive);
          model.off("change:label change:explanation", draw);
        };
      },
    };
    """
    _css = ".autosync-download { width: auto; padding: 0 12px; }"
    label = traitlets.Unicode().tag(sync=True)
    explanation = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        label: str,
        tooltip: str,
        make: Callable[[], TextFile | BytesFile],
        tell: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(label=label, explanation=tooltip)
        self._make, self._tell = make, tell
        self.on_msg(self._hear)

    def _hear(self, _: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("say") != "make":
            return
        try:
            file = self._make()
        except AutoSyncLabError as error:
            if self._tell is not None:
                self._tell(str(error))
            self.send({"say": "failed", "error": str(error) if self._tell is None else ""})
            return
        if self._tell is not None:
            self._tell("")
        self.send({"say": "file", "name": file.name, "type": file.media_type}, buffers=[file.content])
