"""`TrialRequest`: one trial that somebody asked for."""

from dataclasses import dataclass, field

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy


@dataclass(frozen=True)
class TrialRequest:
    """One strategy to measure.

    Parameters
    ----------
    key : int
        Number of the trial in its Explorer.
    label : str
        Builder name or other name of the strategy.
    model : ModelSpec
    cluster : ClusterSpec
    strategy : Strategy
    steps : int
        Timed steps.
    bound_s : float
        Bandwidth bound of the same semantics, seconds.
    """

    key: int
    label: str
    model: ModelSpec = field(repr=False)
    cluster: ClusterSpec = field(repr=False)
    strategy: Strategy = field(repr=False)
    steps: int
    bound_s: float
