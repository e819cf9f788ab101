from typing import Any

import pytest

from autosync_lab.errors import InvalidInput
from autosync_widgets.download_button import DownloadButton, TextFile
from autosync_widgets.figure_file import figure_file, file_name


def hear(button: DownloadButton, monkeypatch: pytest.MonkeyPatch, say: str = "make") -> list[Any]:
    sent: list[Any] = []
    monkeypatch.setattr(button, "send", lambda content, buffers=(): sent.append((content, list(buffers))))
    button._hear(None, {"say": say}, [])
    return sent


def test_a_click_makes_the_file_then_and_sends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["first", "sécond"])
    button = DownloadButton("Save", "why", lambda: TextFile("a.json", next(texts), "application/json"))
    hear(button, monkeypatch)
    ((content, buffers),) = hear(button, monkeypatch)
    assert content == {"say": "file", "name": "a.json", "type": "application/json"}
    assert buffers == ["sécond".encode()]
    assert hear(button, monkeypatch, "something else") == []


def test_what_goes_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> TextFile:
        raise InvalidInput("no")

    assert hear(DownloadButton("Save", "why", make), monkeypatch) == [({"say": "failed", "error": "no"}, [])]


def test_what_goes_wrong_is_told_elsewhere_until_it_goes_well(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    files: list[TextFile] = []

    def make() -> TextFile:
        if not files:
            raise InvalidInput("no")
        return files[0]

    button = DownloadButton("Save", "why", make, told.append)
    assert hear(button, monkeypatch) == [({"say": "failed", "error": ""}, [])]
    files.append(TextFile("a.json", "{}", "application/json"))
    hear(button, monkeypatch)
    assert told == ["no", ""]


def test_a_page_of_figures_needs_no_network_and_escapes_its_title() -> None:
    spec = {"data": [{"type": "bar", "uid": "a", "x": [1], "y": [2]}], "layout": {}}
    file = figure_file("vgg on 4 nodes", "<b>", [spec, spec])
    assert (file.name, file.media_type) == ("vgg-on-4-nodes.html", "text/html")
    assert "<h1>&lt;b&gt;</h1>" in file.text
    assert file.text.count("Plotly.newPlot(") >= 2
    assert '<script src="http' not in file.text


@pytest.mark.parametrize(("text", "name"), [("../a b/c", "a-b-c"), ("", "autosync-lab"), ("ps.json", "ps.json")])
def test_names_of_files(text: str, name: str) -> None:
    assert file_name(text) == name
