"""A LiveFigure in real pages: growing, second views, second pages, and Plotly sent once."""

from collections.abc import Callable

import nbformat
import pytest
from playwright.sync_api import Locator

from tests.browser.lab_page import LabPage
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SETUP = """
from autosync_widgets import LiveFigure, live_figure

sent = []
real_bundle = live_figure.plotly_bundle
def counted_bundle():
    sent.append("bundle")
    return real_bundle()
live_figure.plotly_bundle = counted_bundle

def spec(points, colour="#0072B2", title="first", extra=False):
    traces = [
        {"uid": "a", "type": "scatter", "mode": "markers", "x": list(range(points)), "y": [1] * points,
         "marker": {"color": colour}},
    ]
    if extra:
        traces.append({"uid": "b", "type": "scatter", "mode": "markers", "x": [3], "y": [2]})
    layout = {"height": 200, "title": {"text": title}}
    return {"data": traces, "layout": layout if points else layout | {"shapes": []}}

one, two = LiveFigure(spec(2), "one"), LiveFigure(spec(5), "two")
"""


@pytest.fixture
def notebook(lab_server: LabServer) -> str:
    cells = [SETUP, "one", "two", 'one.show(spec(4, "#D06000", "second", extra=True))', "print(len(sent))"]
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in cells])
    document.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(document, lab_server.root / "live.ipynb")
    return "live.ipynb"


def figures(lab: LabPage) -> Locator:
    return lab.page.locator(".autosync-live-figure.js-plotly-plot")


def shown(figure: Locator) -> dict[str, object]:
    """What Plotly has drawn."""
    return dict(
        figure.evaluate(
            """plot => ({
                points: plot.data.map(trace => trace.x.length),
                colour: plot.data[0].marker.color,
                title: plot.layout.title.text,
                markers: plot.querySelectorAll('.scatterlayer .points path').length,
            })"""
        )
    )


BEFORE = {"points": [2], "colour": "#0072B2", "title": "first", "markers": 2}
AFTER = {"points": [4, 1], "colour": "#D06000", "title": "second", "markers": 5}


def test_a_figure_grows_in_every_view_and_comes_back_after_a_reload(
    lab: LabPage, new_page: Callable[[], LabPage], notebook: str
) -> None:
    lab.open(notebook)
    lab.run_cells(3)
    lab.until(lambda: figures(lab).count() == 2, "not both figures are drawn")
    assert shown(figures(lab).first) == BEFORE

    lab.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    lab.command("notebook:create-output-view")
    lab.until(lambda: figures(lab).count() == 3, "the second view of a figure is not drawn")

    lab.page.evaluate(
        """() => {
            const panel = [...window.jupyterapp.shell.widgets('main')].find(w => w.content?.widgets);
            window.jupyterapp.shell.activateById(panel.id);
        }"""
    )
    lab.run_cell(3)
    both = [f for f in figures(lab).all() if shown(f)["points"] != [5]]
    assert len(both) == 2
    lab.until(lambda: [shown(f) for f in both] == [AFTER, AFTER], "not every view followed")

    lab.run_cell(4)
    assert lab.page.locator(".jp-OutputArea-output pre").last.inner_text().strip() == "1"

    lab.reload()
    lab.until(lambda: figures(lab).count() >= 2, "the figures did not come back")
    lab.until(lambda: shown(figures(lab).first) == AFTER, "the figure came back as it was at first")
