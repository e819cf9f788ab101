"""The panels of models, clusters, spaces and strategies in a real page: by pointer and by keyboard, small and large."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.strategy import Strategy, build_strategy
from tests.browser.conftest import NOTEBOOKS, SCREENSHOTS
from tests.browser.lab_page import LabPage
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

VIEWS, SPACES, STRATEGIES, GUESS, SIZES = range(1, 6)

CELLS = (
    """
import traitlets
import autosync_lab as asl
from autosync_widgets import ClusterView, FunnelPanel, GuessFirst, ModelView, SpacePanel, StrategyPanel
from ipywidgets import VBox
""",
    """
VBox([ModelView("ncf-small"), ClusterView("emulated-servers")])
""",
    """
funnel = FunnelPanel("ncf-small", "emulated-hetero-4")
panel = SpacePanel(space=funnel.space)
traitlets.link((funnel, "space"), (panel, "space"))
VBox([funnel, panel])
""",
    """
strategies = StrategyPanel("vgg-mini", "emulated-4", ["ps", "horovod-fp16"])
strategies
""",
    """
guess = GuessFirst("Which one needs less of the busiest link?", "partitioned-ps", ["ps", "partitioned-ps"],
                   reveal="Its server takes a quarter of the bytes, as all others do.")
guess
""",
    """
one = asl.ModelSpec("one", (asl.Variable("only", (4,)),), 4)
many = asl.ModelSpec("many", tuple(asl.Variable(f"layer{i}/kernel", (64, 64)) for i in range(1000)), 4)
VBox([SpacePanel(one, "local-2"), SpacePanel(many, "emulated-a"), ModelView(many)])
""",
)


@pytest.fixture
def notebook(lab_server: LabServer) -> str:
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in CELLS])
    document.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(document, lab_server.root / "panels.ipynb")
    return "panels.ipynb"


def show(lab: LabPage, notebook: str, *cells: int) -> Locator:
    """Open the notebook and run the first cell and these; the panels of the last one."""
    lab.open(notebook)
    for index in (0, *cells):
        lab.run_cell(index)
    output = lab.page.locator(".jp-Cell").nth(cells[-1]).locator(".jp-OutputArea")
    output.locator(".autosync-lab-panel").first.wait_for(timeout=60_000)
    return output


def drawn(lab: LabPage, output: Locator, figures: int) -> None:
    """Wait until this many figures are drawn."""
    plots = output.locator(".autosync-live-figure.js-plotly-plot .main-svg")
    lab.until(lambda: plots.count() >= 2 * figures, "not every figure is drawn")


def pictures(lab: LabPage, output: Locator, name: str) -> None:
    """Keep pictures of the panels in both themes and at both widths."""
    panels = output.locator(".autosync-lab-panel")
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        for width in (1280, 1920):
            # As high as the highest panel, so that a picture has all of it.
            lab.page.set_viewport_size({"width": width, "height": 2600})
            lab.page.wait_for_timeout(700)
            for index, panel in enumerate(panels.all()):
                lab.screenshot(SCREENSHOTS / f"{name}-{index}-{theme.lower()}-{width}.png", panel)


def test_models_and_clusters_are_drawn_in_both_scales(lab: LabPage, notebook: str) -> None:
    output = show(lab, notebook, VIEWS)
    drawn(lab, output, 2)
    model = output.locator(".autosync-live-figure").first
    assert model.locator(".barlayer .point").count() > len(load_model("ncf-small").variables)
    output.get_by_role("button", name="logarithmic").click()
    lab.until(lambda: model.evaluate("plot => plot.layout.yaxis.type") == "log", "the scale did not change")
    assert "server0" in output.locator(".autosync-live-figure").last.inner_text()
    pictures(lab, output, "views")


def test_choices_are_read_and_locked_by_keyboard_and_constraints_switched(lab: LabPage, notebook: str) -> None:
    output = show(lab, notebook, SPACES)
    drawn(lab, output, 1)
    rows = output.locator(".autosync-variables tbody tr")
    board = output.locator(".autosync-board")
    names = [v.name for v in load_model("ncf-small").variables]
    assert rows.count() == len(names)

    rows.first.focus()
    for key, variable in (("Home", names[0]), ("ArrowDown", names[1]), ("End", names[-1]), ("ArrowUp", names[-2])):
        lab.page.keyboard.press(key)
        expect(board.locator("h4")).to_have_text(variable)
        expect(output.locator("tr[aria-selected=true]")).to_have_attribute("data-variable", variable)

    sparse = next(v.name for v in load_model("ncf-small").variables if v.sparse)
    rows.filter(has_text=sparse).click()
    expect(board.get_by_role("button", name="synchronizer all-reduce: Pruned by sparse-to-ps.")).to_be_visible()
    assert "sparse-to-ps pruned" in board.inner_text()

    node = board.get_by_role("button", name="destination node2")
    node.focus()
    lab.page.keyboard.press("Enter")
    expect(node).to_have_attribute("aria-pressed", "true")
    expect(output.get_by_text("1 variable locked")).to_be_visible()
    levels = output.locator(".autosync-live-figure").first
    lab.until(lambda: "your locks" in levels.inner_text(), "the funnel did not follow the lock")
    other = board.get_by_role("button", name="destination node1: Not what you locked. Click to lock it instead.")
    other.click()
    expect(node).to_have_attribute("aria-pressed", "false")
    board.get_by_role("button", name="destination node1: Locked. Click to unlock it.").click()
    expect(output.get_by_text("Nothing is locked.")).to_be_visible()

    switch = output.get_by_role("checkbox", name="sparse-to-ps")
    switch.focus()
    lab.page.keyboard.press("Space")
    lab.until(lambda: "sparse-to-" not in levels.inner_text(), "the funnel did not follow the switch")
    expect(board.get_by_role("button", name="synchronizer all-reduce: Left. Click to lock it.")).to_be_visible()
    switch.press("Space")
    lab.until(lambda: "sparse-to-" in levels.inner_text(), "the switch did not come back")

    output.get_by_role("button", name="partition", exact=True).click()
    shares = output.locator(".autosync-variables tbody tr td:nth-child(3)")
    left = [int(text.split()[0]) for text in shares.all_inner_texts()]
    assert left == sorted(left, reverse=True)
    pictures(lab, output, "space")


def test_strategies_are_compared_and_downloaded(lab: LabPage, notebook: str, tmp_path: Path) -> None:
    output = show(lab, notebook, STRATEGIES)
    drawn(lab, output, 2)
    lab.until(lambda: output.get_by_text("(simulated)").count() >= 2, "nothing is simulated")
    pictures(lab, output, "strategies")

    output.get_by_label("Strategy", exact=True).select_option("byteps")
    expect(output.locator(".autosync-facts-table th", has_text="byteps")).to_be_visible()
    with lab.page.expect_download() as download:
        output.get_by_role("button", name="Strategy as JSON").click()
    assert download.value.suggested_filename == "byteps-vgg-mini-emulated-4.json"
    strategy = Strategy.from_json(json.loads(download.value.path().read_text()))
    assert strategy == build_strategy("byteps", load_model("vgg-mini"), load_cluster("emulated-4"))

    # By keyboard: what Horovod cannot do is said in the panel, until something is chosen that it can.
    output.get_by_role("button", name="Horovod module").focus()
    lab.page.keyboard.press("Enter")
    expect(output.get_by_role("alert")).to_contain_text("Horovod has no parameter servers")
    lab.screenshot(SCREENSHOTS / "strategies-refused.png", output.locator(".autosync-lab-panel").first)
    output.get_by_label("Strategy", exact=True).select_option("all-reduce")
    expect(output.get_by_role("alert")).to_have_count(0)
    for form, name in (
        ("Horovod module", "synchronize_all_reduce_vgg_mini_emulated_4.py"),
        ("AutoDist file", "all-reduce-vgg-mini-emulated-4.pb"),
    ):
        output.get_by_role("button", name=form).focus()
        with lab.page.expect_download() as download:
            lab.page.keyboard.press("Enter")
        assert download.value.suggested_filename == name

    with lab.page.expect_download() as download:
        output.get_by_role("button", name="Figures as HTML").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page = lab.page.context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert [url for url in asked if url.startswith("http")] == []
    page.close()


def test_an_answer_is_shown_after_a_guess_and_not_before(lab: LabPage, notebook: str) -> None:
    output = show(lab, notebook, GUESS)
    reveal = output.get_by_text("takes a quarter")
    commit = output.get_by_role("button", name="Commit to this guess")
    commit.click()
    expect(output.get_by_text("Choose an answer first.")).to_be_visible()
    assert reveal.count() == 0
    output.get_by_role("radio", name="ps", exact=True).check()
    commit.click()
    expect(output.get_by_text("You guessed: ps. The answer is: partitioned-ps.")).to_be_visible()
    expect(reveal).to_be_visible()
    expect(commit).to_be_disabled()
    pictures(lab, output, "guess")


def test_panels_come_back_as_they_were_after_a_reload(lab: LabPage, notebook: str) -> None:
    output = show(lab, notebook, SPACES)
    drawn(lab, output, 1)
    output.locator("tr[data-variable='mlp0/kernel']").click()
    lock = output.get_by_role("button", name="synchronizer all-reduce")
    lock.click()
    expect(lock).to_have_attribute("aria-pressed", "true")
    output.get_by_role("checkbox", name="lossy compressors").check()
    levels = output.locator(".autosync-live-figure").first
    lab.until(lambda: "your locks" in levels.inner_text(), "the funnel did not follow the lock")
    lab.until(lambda: "Counting" not in output.inner_text(), "the space is still counted")
    before = levels.inner_text()
    lab.reload()
    drawn(lab, output, 1)
    expect(output.locator("tr[aria-selected=true]")).to_have_attribute("data-variable", "mlp0/kernel")
    expect(lock).to_have_attribute("aria-pressed", "true")
    expect(output.get_by_role("checkbox", name="lossy compressors")).to_be_checked()
    lab.until(lambda: levels.inner_text() == before, "the funnel did not come back")
    output.locator(".autosync-board").screenshot(path=SCREENSHOTS / "space-locked.png")


def test_one_variable_and_a_thousand(lab: LabPage, notebook: str) -> None:
    output = show(lab, notebook, SIZES)
    one, many = output.locator(".autosync-variables").all()
    expect(one.locator("tbody tr")).to_have_count(1)
    expect(many.locator("tbody tr")).to_have_count(1000)
    search = output.get_by_label("Find a variable").last
    search.fill("layer99")
    expect(many.locator("tbody tr")).to_have_count(11)
    expect(output.get_by_text("11 of 1000")).to_be_visible()
    search.fill("")
    many.locator("tbody tr").nth(500).click()
    expect(output.locator(".autosync-board h4").last).to_have_text("layer500/kernel")
    lab.until(lambda: "Counting" not in output.inner_text(), "the large space is not counted", timeout_s=60)
    drawn(lab, output, 1)
    pictures(lab, output, "sizes")


@pytest.mark.parametrize("name", ["02_ps_or_all_reduce", "03_strategy_space"])
def test_notebooks_answer_every_guess(lab: LabPage, lab_server: LabServer, name: str) -> None:
    shutil.copy(NOTEBOOKS / f"{name}.ipynb", lab_server.root)
    # So high that every cell is drawn.
    lab.page.set_viewport_size({"width": 1280, "height": 9000})
    lab.open(f"{name}.ipynb")
    lab.run_all()
    lab.wait_for_end(timeout_s=120)
    guesses = lab.page.locator(".jp-OutputArea .autosync-guess")
    assert guesses.count() >= 1
    for guess in guesses.all():
        number = guess.get_by_role("textbox")
        if number.count():
            number.fill("3")
            number.press("Tab")
        else:
            guess.get_by_role("radio").first.check()
        guess.get_by_role("button", name="Commit to this guess").click()
    verdicts = lab.page.locator(".jp-OutputArea .autosync-verdict")
    expect(verdicts).to_have_count(guesses.count(), timeout=30_000)
    lab.until(lambda: lab.page.get_by_text("simulating ...").count() == 0, "something is not simulated")
    lab.page.wait_for_timeout(1500)
    lab.fail_on_error_output()
    lab.screenshot(SCREENSHOTS / f"{name}.png")
