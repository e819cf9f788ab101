"""Searches on clusters that are played: what a search finds where the truth is not what it believes.

All of it is simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.search.base import Observation, SearchAlgorithm
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.timeline import play
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.strategy.spec import Strategy

SPREAD = 0.4
"""Standard deviation of the logarithm of what the truth's constants are over the typical ones: mostly within 1.5."""

NOISE = 0.02
"""Standard deviation of the logarithm of what a trial says over the true step time."""

BATCH = 8

PEERS = ("ps-load-balanced", "horovod")
"""What the paper compares with: the best of parameter servers and Horovod."""


@dataclass(frozen=True)
class VirtualCluster:
    """A cluster whose constants differ from the typical ones by chance, and its noise."""

    model: ModelSpec
    cluster: ClusterSpec
    seed: int

    @property
    def truth(self) -> CostModel:
        """What the step times follow."""
        rng = np.random.default_rng([self.seed, 1])
        typical = Calibration.typical(self.cluster)
        factors = {f.name: float(np.exp(SPREAD * rng.standard_normal())) for f in fields(typical)}
        disturbed = {name: getattr(typical, name) * factor for name, factor in factors.items()}
        # No link carries more than its bandwidth.
        disturbed["link_efficiency"] = min(1.0, disturbed["link_efficiency"])
        return CostModel(self.model, self.cluster, replace(typical, **disturbed))

    @property
    def belief(self) -> CostModel:
        """What a search believes before its first trial."""
        return CostModel(self.model, self.cluster)

    def space(self) -> StrategySpace:
        """What the default constraints leave, lossless."""
        return StrategySpace(self.model, self.cluster).constrain(DEFAULT_CONSTRAINTS)

    def baseline_s(self) -> float:
        """Step time of the best of parameter servers and Horovod, seconds."""
        truth = self.truth
        return min(play(truth, build_strategy(name, self.model, self.cluster)).step_time_s for name in PEERS)

    def search(self, algorithm: SearchAlgorithm, trials: int) -> npt.NDArray[np.float64]:
        """True step time of what looks best after each trial, seconds, [trials]; fewer if no strategy is left."""
        rng, truth = np.random.default_rng([self.seed, 2]), self.truth
        best: list[float] = []
        fastest, chosen = np.inf, np.inf
        while len(best) < trials:
            asked: list[Strategy] = algorithm.ask(min(BATCH, trials - len(best)))
            if not asked:
                break
            told = []
            for strategy in asked:
                true_s = play(truth, strategy).step_time_s
                seen_s = true_s * float(np.exp(NOISE * rng.standard_normal()))
                told.append(Observation(strategy, seen_s))
                if seen_s < fastest:
                    fastest, chosen = seen_s, true_s
                best.append(chosen)
            algorithm.tell(told)
        return np.asarray(best)


AlgorithmOf = Callable[[VirtualCluster], SearchAlgorithm]
