"""The set-up files agree with each other, and the package imports without its heavy parts."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
PINS = dict(line.split("==", 1) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
EXTRAS = PROJECT["optional-dependencies"]
SET_UP_EXTRAS = {"tensorflow", "study", "lab", "figures", "dev"}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {normalized(re.split(r"[<>=!\[; ]", r, maxsplit=1)[0]) for r in requirements}


def test_everything_that_the_set_up_installs_is_pinned() -> None:
    wanted = names(PROJECT["dependencies"]).union(*(names(EXTRAS[e]) for e in SET_UP_EXTRAS | {"horovod"}))
    assert wanted - {normalized(n) for n in PINS} == set()


def test_pins_satisfy_the_project() -> None:
    from packaging.requirements import Requirement

    pins = {normalized(n): v for n, v in PINS.items()}
    for requirement in map(Requirement, PROJECT["dependencies"] + [r for e in SET_UP_EXTRAS for r in EXTRAS[e]]):
        assert requirement.specifier.contains(pins[normalized(requirement.name)]), requirement


def test_conda_and_make_install_the_same() -> None:
    (pip,) = [d["pip"] for d in ENVIRONMENT["dependencies"] if isinstance(d, dict)]
    assert "-c constraints.txt" in pip
    (editable,) = [line for line in pip if line.startswith("-e")]
    makefile = (ROOT / "Makefile").read_text()
    extras = f".[{','.join(['tensorflow', 'study', 'lab', 'figures', 'dev'])}]"
    assert extras in editable
    assert extras in makefile
    python = next(d for d in ENVIRONMENT["dependencies"] if isinstance(d, str) and d.startswith("python="))
    assert f">={python.removeprefix('python=')}" in PROJECT["requires-python"]


@pytest.mark.parametrize("name", ["constraints.txt", "environment.yml", "pyproject.toml", "Makefile"])
def test_no_addresses_in_set_up_files(name: str) -> None:
    assert not re.search(r"://|\b(pypi|anaconda)\.(org|com)\b", (ROOT / name).read_text())


def test_the_package_imports_quickly_without_its_heavy_parts() -> None:
    blocked = ("tensorflow", "keras", "horovod", "IPython", "ipywidgets", "plotly", "pandas", "pyarrow", "scipy")
    code = f"""
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import autosync_lab as asl
model, cluster = asl.load_model("bert-large"), asl.load_cluster("cluster-b")
strategy = asl.build_strategy("byteps", model, cluster)
print(asl.bandwidth_bound(model, cluster) > 0, asl.open_cluster, asl.TrialStore)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", "import sys, autosync_lab; print(len(sys.modules))"],
        check=True,
        capture_output=True,
        text=True,
    )
    # A bare interpreter has some 50 modules; NumPy alone brings 150.
    assert int(done.stdout) < 120


def test_the_wheel_holds_code_and_data(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        check=True,
        capture_output=True,
        cwd=ROOT,
    )
    (wheel,) = tmp_path.glob("*.whl")
    members = set(zipfile.ZipFile(wheel).namelist())
    assert "autosync_lab/cluster/presets/emulated-4.yml" in members
    assert "autosync_lab/model/catalog/data/vgg16.json" in members
    assert any(m.startswith("autosync_widgets/") and m.endswith(".js") for m in members)
    assert not any(m.startswith(("tests/", "notebooks/")) for m in members)


def test_set_up_scripts_and_ci() -> None:
    ci = ROOT / ".ci" / "run"
    assert ci.stat().st_mode & 0o100
    assert ci.read_text().strip().splitlines()[-1] == "make test"
