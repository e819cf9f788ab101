"""`PairTrials`: the measured trials of one model on one cluster, and `Lesson`: what a ranker learns from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.features import Encoded, pair_scale_s
from autosync_lab.simulator.timeline import play
from autosync_lab.space.batch import StrategyBatch


@dataclass(frozen=True)
class PairTrials:
    """Measured trials of one model on one cluster.

    Parameters
    ----------
    cost_model : CostModel
        Of the model (with its measured times, where they are known) on the cluster.
    batch : StrategyBatch
        n strategies.
    step_time_s : float64 [n]
        Seconds.
    simulated : bool
        True if a simulator produced some of the times.

    Raises
    ------
    InvalidInput
        If a time is no positive number, or there are not as many as strategies.
    """

    cost_model: CostModel
    batch: StrategyBatch
    step_time_s: npt.NDArray[np.float64]
    simulated: bool = False

    def __post_init__(self) -> None:
        if self.step_time_s.shape != (len(self.batch),):
            raise InvalidInput(
                f"{len(self.batch)} strategies have as many step times", received=str(self.step_time_s.shape)
            )
        wrong = ~(np.isfinite(self.step_time_s) & (self.step_time_s > 0))
        if wrong.any():
            raise InvalidInput("a step time is above 0 s", received=float(self.step_time_s[wrong][0]))

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def name(self) -> str:
        """MODEL on CLUSTER."""
        return f"{self.cost_model.model.name} on {self.cost_model.cluster.name}"

    @property
    def key(self) -> str:
        """What tells pairs apart: hashes of the model and of the cluster."""
        return pair_key(self.cost_model)

    def take(self, chosen: Sequence[int] | npt.NDArray[np.generic]) -> "PairTrials":
        """Some of the trials."""
        chosen = np.asarray(chosen, np.int64)
        some = PairTrials(self.cost_model, self.batch[chosen], self.step_time_s[chosen], self.simulated)
        if "played_s" in self.__dict__:
            some.__dict__["played_s"] = self.played_s[chosen]
        return some

    @cached_property
    def played_s(self) -> npt.NDArray[np.float64]:
        """What the timeline says, seconds, [n]."""
        return played_s(self.cost_model, self.batch)


@dataclass(frozen=True)
class Lesson:
    """What a ranker learns from: strategies of one pair as numbers, and how long they took.

    Parameters
    ----------
    encoded : Encoded
        n strategies.
    target : float64 [n]
        Logarithm of the step time in units of `pair_scale_s`.
    """

    encoded: Encoded
    target: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def key(self) -> str:
        """As `PairTrials.key`."""
        return pair_key(self.encoded.cost_model)

    @property
    def left(self) -> npt.NDArray[np.float64]:
        """What the prior leaves to learn, [n], without what all strategies have in common."""
        left = self.target - self.encoded.base
        return np.asarray(left - left.mean())

    def draw(self, rng: np.random.Generator, count: int) -> "Lesson":
        """`count` of the strategies, drawn without replacement."""
        chosen = np.sort(rng.choice(len(self), count, replace=False))
        return Lesson(self.encoded.take(chosen), self.target[chosen])


def pair_key(cost_model: CostModel) -> str:
    """What tells a model on a cluster from others: both hashes."""
    return f"{cost_model.model.hash}:{cost_model.cluster.hash}"


def log_time(cost_model: CostModel, step_time_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Logarithm of step times in units of `pair_scale_s`, [n]."""
    return np.asarray(np.log(step_time_s / pair_scale_s(cost_model)))


def played_s(cost_model: CostModel, batch: StrategyBatch) -> npt.NDArray[np.float64]:
    """Step times by the timeline, seconds, [n]."""
    return np.asarray([play(cost_model, batch[i : i + 1]).step_time_s for i in range(len(batch))])
