"""What decides a study's proposals, as JSON that is stored with it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.cluster.yaml_file import dump_cluster, parse_cluster
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.space import StrategySpace


def describe_space(space: StrategySpace) -> dict[str, Any]:
    """A space as JSON: enough to tell two of one model and cluster apart."""
    domain = space.domain
    return {
        "lossy": space.lossy,
        "asynchronous": space.asynchronous,
        "constraints": [repr(rule) for rule in space.constraints],
        "locks": [[lock.variable, {k: lock.choices[k] for k in sorted(lock.choices)}] for lock in space.locks],
        "most_shards": max((p.shards for v in domain.variables for p in v.partitions), default=1),
        "push_credits": sorted({settings.push_credit for settings in domain.settings}),
    }


def documents(model: ModelSpec, cluster: ClusterSpec) -> dict[str, Any]:
    """Model and cluster as they are stored with a study, so that it can be opened by its name."""
    return {"model": model.to_json(), "cluster": {"name": cluster.name, "yaml": dump_cluster(cluster)}}


def require_same(study: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """A study goes on as it began.

    Raises
    ------
    InvalidInput
        Naming the first setting that differs, and its stored value.
    """
    for key, value in wanted.items():
        if key in stored and stored[key] != value:
            raise InvalidInput(
                "a study of this name is stored, and a study goes on as it began; give another one another name",
                where=f"study {study!r}: {key}",
                received=value if isinstance(value, str | int | float) else str(value),
                valid=[str(stored[key])],
            )


def stored_model(stored: Mapping[str, Any], where: str, given: ModelSpec | None) -> ModelSpec:
    """The model with the times that it had when the study began: its proposals may depend on them.

    What runs is `given`, or the catalog's model of this name and content; without either the model cannot be run, but
    the study can be watched.
    """
    model = ModelSpec.from_json(stored["model"], where=where)
    if given is None:
        from autosync_lab.model.catalog import load_model, model_names

        if model.name in model_names():
            given = load_model(model.name)
            if given.hash != model.hash:
                given = None
    return model if given is None else replace(model, tracer=given.tracer)


def stored_cluster(stored: Mapping[str, Any], where: str) -> ClusterSpec:
    """The cluster of a stored study."""
    cluster = stored["cluster"]
    return parse_cluster(cluster["yaml"], where=where, name=cluster["name"])
