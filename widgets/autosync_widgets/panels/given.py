"""What a panel is given: a model, a cluster or a space, as itself or by name."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.constraints import DEFAULT_CONSTRAINTS
from autosync_lab.space.space import StrategySpace
from autosync_widgets.choices import cluster_choices, model_choices


def given_model(model: str | ModelSpec | None) -> ModelSpec:
    """The model: a catalog name, a file, a model of one's own; the first model of an Explorer if None.

    Raises
    ------
    InvalidInput
        If it is no model, or there is neither a model nor a file of that name.
    """
    choices, chosen = model_choices(model)
    return choices[chosen]


def given_cluster(cluster: str | ClusterSpec | None) -> ClusterSpec:
    """The cluster: a preset, a file, a cluster of one's own; the first cluster of an Explorer if None.

    Raises
    ------
    InvalidInput
        If it is no cluster, or there is neither a preset nor a file of that name.
    """
    choices, chosen = cluster_choices(cluster)
    return choices[chosen]


def given_space(
    model: str | ModelSpec | None, cluster: str | ClusterSpec | None, space: StrategySpace | None
) -> StrategySpace:
    """The space, or that of the model on the cluster under the constraints that a search has.

    Raises
    ------
    InvalidInput
        If both are given, or one of them does not exist.
    """
    if space is None:
        return StrategySpace(given_model(model), given_cluster(cluster)).constrain(DEFAULT_CONSTRAINTS)
    if not isinstance(space, StrategySpace):
        raise InvalidInput("a space is a StrategySpace", where="space", received=space)
    if model is not None or cluster is not None:
        raise InvalidInput("a space has its model and its cluster: give one or the other", where="space")
    return space
