"""Clusters by name."""

from importlib import resources
from pathlib import Path

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.cluster.yaml_file import parse_cluster, read_cluster
from autosync_lab.errors import InvalidCluster
from autosync_lab.user_file import is_file_name


def cluster_names() -> tuple[str, ...]:
    """Names of the presets."""
    folder = resources.files("autosync_lab.cluster") / "presets"
    return tuple(sorted(f.name.removesuffix(".yml") for f in folder.iterdir() if f.name.endswith(".yml")))


def load_cluster(name: str | Path) -> ClusterSpec:
    """A preset by name, or a cluster file.

    Parameters
    ----------
    name : str or Path
        One of `cluster_names()`, or the path of a YAML file (this package's, or an AutoDist resource spec).

    Raises
    ------
    InvalidCluster
        If there is neither a preset nor a file of that name, or the file breaks a rule.
    """
    text = str(name)
    if text in cluster_names():
        file = resources.files("autosync_lab.cluster") / "presets" / f"{text}.yml"
        return parse_cluster(file.read_text(encoding="utf-8"), where=text, name=text)
    if not (isinstance(name, Path) or is_file_name(text, (".yml", ".yaml"))):
        raise InvalidCluster("no preset and no file has this name", received=text, valid=cluster_names())
    return read_cluster(Path(name))
