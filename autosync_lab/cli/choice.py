"""What the words of a command line stand for."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.model import ModelSpec
    from autosync_lab.strategy import Strategy


def choose_strategy(word: str, model: "ModelSpec", cluster: "ClusterSpec") -> tuple[str, "Strategy"]:
    """Label and strategy that `word` stands for: a builder's name, or a strategy file, which is called by its name.

    Raises
    ------
    InvalidStrategy
        If it is neither, or is not valid for the model on the cluster.
    """
    from autosync_lab.strategy import build_strategy, builder_names

    label = word if word in builder_names() else Path(word).stem
    return label, build_strategy(word, model, cluster)
