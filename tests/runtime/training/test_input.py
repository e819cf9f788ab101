"""What `fit` refuses before anything starts."""

from pathlib import Path
from typing import Any

import pytest

import autosync_lab as asl
from autosync_lab.errors import InvalidInput
from tests.runtime.training.small_models import data, small_model


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps: at least 1 step is run"),
        ({"optimizer": "sdg"}, "did you mean 'sgd'"),
        ({"every": 5}, "checkpoint: checkpoints need a folder"),
        ({"every": 0, "checkpoint": "CHECKPOINTS"}, "every: a checkpoint is taken every 1 or more steps"),
        ({"checkpoint": 5}, "checkpoint: a folder is needed"),
        ({"checkpoint": "FILE"}, "checkpoint: this is no folder"),
        ({"dataset_fn": []}, "dataset_fn is a function of .rank, replicas.*list"),
        ({"cluster": "local-2"}, "fit takes a ClusterSpec"),
        ({"cluster": asl.load_cluster("emulated-4")}, "the cluster 'emulated-4' has 4 replicas"),
    ],
)
def test_a_broken_rule_is_named(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    places = {"FILE": tmp_path / "file", "CHECKPOINTS": tmp_path / "checkpoints"}
    model, cluster = small_model(), asl.load_cluster("local-2")
    arguments: dict[str, Any] = {"cluster": cluster, "dataset_fn": data, "steps": 1} | settings
    if arguments.get("checkpoint") in places:
        arguments["checkpoint"] = places[arguments["checkpoint"]]
    with pytest.raises(InvalidInput, match=message):
        asl.fit(model, asl.build_strategy("ps", model, cluster), **arguments)


def test_a_virtual_cluster_trains_nothing() -> None:
    from dataclasses import replace

    model, cluster = small_model(), replace(asl.load_cluster("local-2"), launcher="virtual")
    with pytest.raises(InvalidInput, match="nothing can be trained on it"):
        asl.fit(model, asl.build_strategy("ps", model, cluster), cluster, data, 1)
