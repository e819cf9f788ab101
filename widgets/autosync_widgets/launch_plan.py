"""What a click on Launch means: the trials to run, or why there are none."""

from collections.abc import Mapping

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.trial_request import TrialRequest

MAX_STEPS = 10_000


def plan_launch(
    model: ModelSpec,
    cluster: ClusterSpec,
    strategies: Mapping[str, str | Strategy],
    steps: int,
    first_key: int,
) -> tuple[TrialRequest, ...]:
    """One trial per chosen strategy.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    strategies : mapping of label to builder name or Strategy
    steps : int
        Timed steps per trial.
    first_key : int
        Key of the first request; the others go on from it.

    Raises
    ------
    InvalidInput
        If nothing is chosen, a number is out of its range, or a strategy does not fit the model and the cluster.
    """
    from autosync_lab.cluster import bandwidth_bound
    from autosync_lab.strategy import build_strategy, validate_strategy

    if not strategies:
        raise InvalidInput("Choose at least one strategy.")
    if not 1 <= steps <= MAX_STEPS:
        raise InvalidInput(f"Steps must be between 1 and {MAX_STEPS:,}", received=steps)
    requests = []
    for key, (label, choice) in enumerate(strategies.items(), first_key):
        try:
            if isinstance(choice, Strategy):
                validate_strategy(choice, model, cluster)
                strategy = choice
            else:
                strategy = build_strategy(choice, model, cluster)
        except InvalidInput as error:
            raise InvalidInput(f"{label} does not fit {model.name} on {cluster.name}: {error}") from error
        bound_s = bandwidth_bound(model, cluster, lossless=strategy.lossless)
        requests.append(TrialRequest(key, label, model, cluster, strategy, steps, bound_s))
    return tuple(requests)
