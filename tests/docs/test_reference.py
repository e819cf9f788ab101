"""The reference has every public name."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.page import ROOT

FIRST = ("autosync_lab", "autosync_widgets")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The written reference."""
    folder = tmp_path_factory.mktemp("reference")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_reference.py", folder], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # pdoc warns of what it cannot find or read.
    assert "Warn" not in done.stderr, done.stderr[-3000:]
    return folder


@pytest.mark.parametrize("package", FIRST)
def test_every_public_name_has_an_entry_with_a_docstring(reference: Path, package: str) -> None:
    page = (reference / f"{package}.html").read_text(encoding="utf-8")
    module = importlib.import_module(package)
    for name in module.__all__:
        if name.startswith("__"):
            continue
        value = getattr(module, name)
        assert f'id="{name}"' in page, name
        assert inspect.isclass(value) or inspect.isfunction(value), name
        # A dataclass without one gets its signature as a docstring.
        assert value.__doc__, name
        assert not value.__doc__.startswith(f"{name}("), name


def test_the_index_links_all_pages(reference: Path) -> None:
    index = (reference / "index.html").read_text(encoding="utf-8")
    pages = [p.relative_to(reference).as_posix() for p in reference.rglob("*.html") if p.name != "index.html"]
    assert len(pages) > len(FIRST)
    assert [page for page in pages if f'"{page}"' not in index] == []
