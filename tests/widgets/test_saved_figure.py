from pathlib import Path

import pytest

from autosync_lab.errors import AutoSyncLabError, InvalidInput, MissingExtra
from autosync_widgets import saved_figure
from autosync_widgets.live_figure import LiveFigure

SPEC = {"data": [{"type": "scatter", "x": [1], "y": [2]}], "layout": {"title": {"text": "points"}}}


def test_a_figure_is_saved_as_a_page_of_its_own(tmp_path: Path) -> None:
    LiveFigure(SPEC, "points").save(tmp_path / "figure.html")
    page = (tmp_path / "figure.html").read_text()
    assert "points" in page
    assert "plotly.js v" in page


def test_what_cannot_be_saved_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = LiveFigure(SPEC, "points")
    with pytest.raises(InvalidInput, match=r"Valid: \.html, \.png, \.svg"):
        figure.save(tmp_path / "figure.pdf")
    with pytest.raises(InvalidInput, match="folder"):
        figure.save(tmp_path / "none" / "figure.html")
    monkeypatch.setattr(saved_figure, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="kaleido"):
        figure.save(tmp_path / "figure.png")


def test_a_system_that_refuses_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "figure.html").mkdir()
    with pytest.raises(AutoSyncLabError, match=r"figure\.html"):
        LiveFigure(SPEC, "points").save(tmp_path / "figure.html")
