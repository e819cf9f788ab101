from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

PLOTLY = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"

WORKERS = {"01_first_trial"}
"""Notebooks that start worker processes as they are; the others simulate, or use the trials that come along."""

COMMIT_ALL = """
import gc

from autosync_widgets import GuessFirst

for question in [found for found in gc.get_objects() if isinstance(found, GuessFirst)]:
    question.commit(1.0 if question._options is None else question._options[0])
    assert question._below.children or question._reveal is None
"""
"""What a reader does: commit to every guess, so that every reveal is made."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_are_committed_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and c.execution_count is None for c in code)
    assert "widgets" not in notebook.metadata
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.notebook
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=[pytest.mark.cluster] if p.stem in WORKERS else []) for p in NOTEBOOKS],
)
def test_notebooks_run_from_top_to_bottom_and_leave_nothing(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(COMMIT_ALL))
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}})
    before = set(psutil.Process().children(recursive=True))
    client.execute()
    started = set(psutil.Process().children(recursive=True)) - before
    _, alive = psutil.wait_procs(started, timeout=20)
    assert alive == []
    outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"] == []
    shown = {kind for o in outputs for kind in o.get("data", {})}
    assert {PLOTLY, WIDGET} <= shown
