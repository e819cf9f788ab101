"""`SearchRequest`: a search that somebody asked for."""

from dataclasses import dataclass, field
from typing import Literal

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.space.space import StrategySpace

Backend = Literal["measure", "simulate"]

MOST_TRIALS = 100_000
MEASURABLE = ("local", "emulated", "ssh")
"""Launchers that can start processes."""


@dataclass(frozen=True)
class SearchRequest:
    """What to search, and how.

    Parameters
    ----------
    model : ModelSpec
    cluster : ClusterSpec
    backend : {"measure", "simulate"}
        Whether trials run on the cluster, or the cost model plays it.
    algorithm, simulator : str
    n_trials : int
        Proposals in all.
    lossy : bool
        Compressors that lose bits are in the space, unless `space` says what is.
    name : str
        The study's name.
    space : StrategySpace, optional
    calibration : Calibration, optional
        Of the cluster that is simulated.
    """

    model: ModelSpec = field(repr=False)
    cluster: ClusterSpec = field(repr=False)
    backend: Backend
    algorithm: str
    simulator: str
    n_trials: int
    lossy: bool
    name: str
    space: StrategySpace | None = field(default=None, repr=False)
    calibration: Calibration | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.n_trials <= MOST_TRIALS:
            raise InvalidInput(f"Trials must be between 1 and {MOST_TRIALS:,}", received=self.n_trials)
        if self.backend == "measure" and self.cluster.launcher not in MEASURABLE:
            raise InvalidInput(
                f"Trials cannot run on {self.cluster.name} from here (launcher {self.cluster.launcher}): simulate it"
            )
        if self.backend == "measure" and self.model.tracer is None:
            raise InvalidInput(f"{self.model.name} is only described and cannot be run: simulate it")

    def goes_on(self, other: "SearchRequest") -> bool:
        """True if this one goes on with the study of another one."""
        mine, its = (
            (r.model.hash, r.cluster.hash, r.backend, r.algorithm, r.simulator, r.lossy, r.name, r.space, r.calibration)
            for r in (self, other)
        )
        return mine == its


def study_name(
    model: ModelSpec,
    cluster: ClusterSpec,
    backend: Backend,
    algorithm: str,
    simulator: str,
    lossy: bool,
    space: StrategySpace | None = None,
) -> str:
    """A name that says what a study is, so that other settings begin another study."""
    parts = [f"{model.name} on {cluster.name}", algorithm]
    if simulator != "none":
        parts.append(simulator)
    if lossy:
        parts.append("lossy")
    if space is not None and space.locks:
        parts.append(f"{len(space.locks)} locked")
    if backend == "simulate":
        parts.append("simulated")
    return ", ".join(parts)
