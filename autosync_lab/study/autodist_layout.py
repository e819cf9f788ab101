"""Where the files of a data set of AutoDist's strategies are: the layout of the one that came with the AutoSync paper.

    MODEL/graph_item
    MODEL/CLUSTER/resource_spec/ID      a cluster file (YAML)
    MODEL/CLUSTER/runtime/ID            `runtime`: seconds of each step; YAML or JSON
    MODEL/CLUSTER/strategies/ID         AutoDist's serialized strategy

`strategy` for `strategies`, a plural `s` elsewhere, and an ID that ends in .yml or .json are fine too. So is one
resource spec for all strategies, and the older layout, MODEL/cluster1/EXPERIMENT/ with `runtimes`, `strategies` and one
resource spec.
"""

from dataclasses import dataclass
from pathlib import Path

from autosync_lab.errors import InvalidInput

GRAPH_ITEM = "graph_item"

PARTS = {
    "resource_spec": "resource_spec",
    "resource_specs": "resource_spec",
    "runtime": "runtime",
    "runtimes": "runtime",
    "strategy": "strategy",
    "strategies": "strategy",
}
"""Names of folders, and what their files are."""

SUFFIXES = (".yml", ".yaml", ".json")

IGNORED = (".", "__MACOSX", "README", "LICENSE")
"""Beginnings of names that are no part of a data set."""

OLDER_NAMES = {
    "cluster1": "cluster-B",
    "cluster2": "cluster-A",
    "densenets169": "densenet169",
    "densenets201": "densenet201",
}
"""How the older layout called clusters and models."""


@dataclass(frozen=True)
class Sample:
    """The files of one trial.

    Parameters
    ----------
    model, cluster, name : str
        As the folders and files are called.
    graph_item, resource_spec, runtime, strategy : Path
    """

    model: str
    cluster: str
    name: str
    graph_item: Path
    resource_spec: Path
    runtime: Path
    strategy: Path


@dataclass(frozen=True)
class LeftOut:
    """A file or folder that is not imported, and why."""

    path: str
    why: str


@dataclass(frozen=True)
class FoundSamples:
    """What a folder holds, by its names alone."""

    samples: tuple[Sample, ...]
    left_out: tuple[LeftOut, ...]


def find_samples(folder: Path) -> FoundSamples:
    """Look for samples in the folder of a data set, or of one of its models.

    Raises
    ------
    InvalidInput
        If there is no such folder, or nothing of a data set in it.
    """
    if not folder.is_dir():
        raise InvalidInput("a data set is a folder", received=str(folder))
    finder = _Finder()
    try:
        for model in [folder] if (folder / GRAPH_ITEM).is_file() else _entries(folder):
            finder.look_into_model(model)
    except OSError as error:
        raise InvalidInput(f"a folder that cannot be read: {error.strerror}", received=str(error.filename)) from None
    if not finder.samples:
        reasons = f"; {finder.left_out[0].path}: {finder.left_out[0].why}" if finder.left_out else ""
        raise InvalidInput(f"no data set of AutoDist is in this folder{reasons}", received=str(folder))
    return FoundSamples(tuple(finder.samples), tuple(finder.left_out))


class _Finder:
    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.left_out: list[LeftOut] = []

    def look_into_model(self, folder: Path) -> None:
        graph_item = folder / GRAPH_ITEM
        if not graph_item.is_file():
            self._leave_out(folder, f"this is no model's folder: it has no file {GRAPH_ITEM!r}")
            return
        # The folder may have been given as a dot.
        model = folder.resolve().name
        for cluster in _entries(folder):
            if cluster == graph_item:
                continue
            if not cluster.is_dir():
                self._leave_out(cluster, "a model's folder holds a graph item and clusters' folders")
            elif any(entry.name in PARTS for entry in _entries(cluster)):
                self._look_into_parts(cluster, graph_item, model, cluster.name)
            else:
                self._look_into_experiments(cluster, graph_item, model)

    def _look_into_experiments(self, cluster: Path, graph_item: Path, model: str) -> None:
        experiments = [e for e in _entries(cluster) if e.is_dir() and any(p.name in PARTS for p in _entries(e))]
        if not experiments:
            self._leave_out(cluster, "this is no cluster's folder: it has no runtimes, strategies and resource specs")
        for experiment in experiments:
            self._look_into_parts(experiment, graph_item, model, cluster.name)

    def _look_into_parts(self, folder: Path, graph_item: Path, model: str, cluster: str) -> None:
        """A folder with one folder for each kind of file; in the older layout its resource spec is beside them."""
        found: dict[str, dict[str, Path]] = {part: {} for part in ("strategy", "runtime", "resource_spec")}
        shared: Path | None = None
        for entry in _entries(folder):
            if entry.is_dir() and entry.name in PARTS:
                self._list_part(entry, found[PARTS[entry.name]])
            elif entry.is_file() and entry.suffix in SUFFIXES and shared is None:
                shared = entry
            else:
                self._leave_out(entry, "this is no part of a data set of AutoDist")
        if shared is None and len(found["resource_spec"]) == 1:
            shared = next(iter(found["resource_spec"].values()))
        names = found["strategy"].keys() | found["runtime"].keys()
        if shared is None:
            names |= found["resource_spec"].keys()
        else:
            found["resource_spec"] = dict.fromkeys(names, shared)
        for name in sorted(names):
            missing = [part for part, files in found.items() if name not in files]
            if missing:
                present = next(files[name] for files in found.values() if name in files)
                self._leave_out(present, f"there is no {' and no '.join(missing)} of this name")
                continue
            self.samples.append(
                Sample(
                    OLDER_NAMES.get(model, model),
                    OLDER_NAMES.get(cluster, cluster),
                    name,
                    graph_item,
                    found["resource_spec"][name],
                    found["runtime"][name],
                    found["strategy"][name],
                )
            )

    def _list_part(self, folder: Path, found: dict[str, Path]) -> None:
        for entry in _entries(folder):
            name = entry.stem if entry.suffix in SUFFIXES else entry.name
            if not entry.is_file():
                self._leave_out(entry, f"a file is expected in {folder.name!r}")
            elif name in found:
                self._leave_out(entry, f"{found[name].name!r} is of the same sample")
            else:
                found[name] = entry

    def _leave_out(self, path: Path, why: str) -> None:
        self.left_out.append(LeftOut(str(path), why))


def _entries(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(IGNORED))
