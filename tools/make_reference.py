"""Write the reference: a page for each package, from its docstrings.

    python tools/make_reference.py [FOLDER]

A package's public names are those of its `__all__`, else what it imports as itself (`from x import A as A`) and what
it defines. FOLDER is build/docs if none is given.
"""

import ast
import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pdoc.doc
import pdoc.render

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "widgets"))

PACKAGES = (
    "autosync_lab",
    "autosync_widgets",
    "autosync_lab.errors",
    "autosync_lab.model",
    "autosync_lab.cluster",
    "autosync_lab.strategy",
    "autosync_lab.strategy.autodist",
    "autosync_lab.space",
    "autosync_lab.space.constraints",
    "autosync_lab.runtime",
    "autosync_lab.simulator",
    "autosync_lab.simulator.calibrate",
    "autosync_lab.simulator.learned",
    "autosync_lab.simulator.ranking",
    "autosync_lab.search",
    "autosync_lab.study",
    "autosync_lab.study.data_set",
    "autosync_lab.study.ablations",
    "autosync_lab.doctor",
)
"""What has a page, in the order of the index."""


def public_names(module: ModuleType) -> list[str]:
    """Names that a module offers, each resolved: some packages import theirs on first use."""
    names = list(getattr(module, "__all__", None) or [*_reexported(module), *_defined(module)])
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def _reexported(module: ModuleType) -> list[str]:
    imports = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names if alias.asname == alias.name]


def _defined(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def write_reference(folder: Path) -> None:
    """Write every page and the index."""
    modules = {}
    for name in PACKAGES:
        module = importlib.import_module(name)
        module.__all__ = public_names(module)
        modules[name] = pdoc.doc.Module(module)
    pdoc.render.configure(docformat="numpy", footer_text="AutoSync Lab")
    for name, page in modules.items():
        file = folder / f"{name.replace('.', '/')}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(pdoc.render.html_module(page, modules), encoding="utf-8")
    (folder / "index.html").write_text(pdoc.render.html_index(modules), encoding="utf-8")
    (folder / "search.js").write_text(pdoc.render.search_index(modules), encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs"
    write_reference(target)
    print(f"Wrote {target / 'index.html'}")
