"""`LearnedSimulator`: a ranker where the cost model was; `Knowledge`: what one has learned, for use elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.base import Simulator
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.features import Encoded, pair_scale_s
from autosync_lab.simulator.learned.pair_trials import Lesson, PairTrials, log_time, played_s
from autosync_lab.simulator.learned.ranker import State
from autosync_lab.simulator.learned.recipe import Recipe
from autosync_lab.space.batch import StrategyBatch

OFFSET_TRIALS = 1.0
"""What all strategies of a pair have in common is believed after so many trials as much as what was before."""

LARGEST = 1.5
"""No correction of a prior is beyond this factor's exponential: there the cost model says nothing any more."""


@dataclass(frozen=True)
class Origin:
    """Trials that something was learned from."""

    model: str
    cluster: str
    trials: int
    simulated: bool


@dataclass(frozen=True)
class Knowledge:
    """What was learned from the trials of some pairs; `LearnedSimulator` uses it, `save_knowledge` keeps it.

    Parameters
    ----------
    recipe : Recipe
    state : mapping of str to array
        The ranker's.
    offset : float
        What the strategies of a pair have in common beyond prior and correction, on average.
    origins : tuple of Origin
    """

    recipe: Recipe
    state: State
    offset: float
    origins: tuple[Origin, ...]


def learn(pairs: Sequence[PairTrials], recipe: Recipe) -> Knowledge:
    """Learn from the trials of several pairs.

    Raises
    ------
    InvalidInput
        If there is no pair with trials, or two are of one model and cluster.
    MissingExtra
        If the ranker needs a package that is not installed.
    """
    pairs = [pair for pair in pairs if len(pair)]
    if not pairs:
        raise InvalidInput("a simulator learns from one trial or more")
    if len({pair.key for pair in pairs}) < len(pairs):
        raise InvalidInput("the trials of one model and cluster come in one piece")
    ranker = recipe.make()
    lessons = [_lesson(pair, recipe) for pair in pairs]
    state = ranker.learn(lessons)
    said = [ranker.correction(state, lesson.encoded) + lesson.encoded.base for lesson in lessons]
    offset = float(np.mean([np.mean(lesson.target - s) for lesson, s in zip(lessons, said, strict=True)]))
    origins = [Origin(p.cost_model.model.name, p.cost_model.cluster.name, len(p), p.simulated) for p in pairs]
    return Knowledge(recipe, state, offset, tuple(origins))


def _lesson(pair: PairTrials, recipe: Recipe) -> Lesson:
    prior = pair.played_s if recipe.prior else None
    encoded = Encoded(pair.batch, pair.cost_model, recipe.features, prior)
    return Lesson(encoded, log_time(pair.cost_model, pair.step_time_s))


class LearnedSimulator(Simulator):
    """Predicts the step times of one model on one cluster from what it was told, beyond what a cost model knows.

    With a prior, the ranker learns what is left of the measured times after the timeline, and what it learned corrects
    the fast fidelity in `predict` and the timeline in `refine`. Without trials it says what the prior says, or what
    `knowledge` from elsewhere makes of it. Every `fit` begins anew from there.

    Parameters
    ----------
    cost_model : CostModel
        Of the model on the cluster: the prior, and the constants in predefined features.
    recipe : Recipe
    knowledge : Knowledge, optional
        What was learned from other pairs, by the same recipe but for the seed.

    Raises
    ------
    InvalidInput
        If the knowledge is of another recipe.
    MissingExtra
        If the ranker needs a package that is not installed.
    """

    def __init__(self, cost_model: CostModel, recipe: Recipe, knowledge: Knowledge | None = None) -> None:
        if knowledge is not None and replace(knowledge.recipe, seed=recipe.seed) != recipe:
            raise InvalidInput(
                "this was learned by another recipe", received=str(knowledge.recipe), valid=[str(recipe)]
            )
        self.name = recipe.ranker
        self.recipe = recipe
        self._cost_model = cost_model
        self._ranker = recipe.make()
        self._start = knowledge
        self._state = None if knowledge is None else knowledge.state
        self._offset = 0.0 if knowledge is None else knowledge.offset
        self._origins = () if knowledge is None else knowledge.origins
        self._played: dict[int, float] = {}

    def predict(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        return self._said(self._encoded(batch, self._cost_model.step_time(batch) if self.recipe.prior else None))

    def refine(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        return self._said(self._encoded(batch, self._exact(batch)))

    def fit(self, batch: StrategyBatch, step_time_s: npt.NDArray[np.float64]) -> None:
        trials = PairTrials(self._cost_model, batch, np.asarray(step_time_s, float))
        if not len(trials):
            return
        lesson = Lesson(self._encoded(batch, self._exact(batch)), log_time(self._cost_model, trials.step_time_s))
        start = self._start
        self._state = self._ranker.learn([lesson], None if start is None else start.state)
        before = 0.0 if start is None else start.offset
        left = float(np.mean(lesson.target - lesson.encoded.base - self._correction(lesson.encoded)))
        # Without any prior there is nothing to believe in but the trials.
        doubt = 0.0 if start is None and not self.recipe.prior else OFFSET_TRIALS
        self._offset = before + (left - before) * len(trials) / (len(trials) + doubt)
        own = Origin(self._cost_model.model.name, self._cost_model.cluster.name, len(trials), False)
        self._origins = (*(() if start is None else start.origins), own)

    def uncertainty(self, batch: StrategyBatch) -> npt.NDArray[np.float64] | None:
        if self._state is None:
            return None
        return self._ranker.deviation(self._state, self._encoded(batch, self._exact(batch)))

    @property
    def knowledge(self) -> Knowledge | None:
        """What it has learned so far, None if nothing."""
        return None if self._state is None else Knowledge(self.recipe, self._state, self._offset, self._origins)

    def _encoded(self, batch: StrategyBatch, prior_s: npt.NDArray[np.float64] | None) -> Encoded:
        if batch.model.hash != self._cost_model.model.hash or batch.cluster.hash != self._cost_model.cluster.hash:
            raise InvalidInput("this batch is of another model or cluster", received=batch.model.name)
        return Encoded(batch, self._cost_model, self.recipe.features, prior_s)

    def _said(self, encoded: Encoded) -> npt.NDArray[np.float64]:
        logged = encoded.base + self._offset + self._correction(encoded)
        return np.asarray(pair_scale_s(self._cost_model) * np.exp(logged))

    def _correction(self, encoded: Encoded) -> npt.NDArray[np.float64]:
        if self._state is None or not len(encoded):
            return np.zeros(len(encoded))
        mean = self._ranker.correction(self._state, encoded)
        return np.clip(mean, -LARGEST, LARGEST) if self.recipe.prior else mean

    def _exact(self, batch: StrategyBatch) -> npt.NDArray[np.float64] | None:
        """What the timeline says, [n], each strategy played once; None without a prior."""
        if not self.recipe.prior:
            return None
        keys = batch.hashes.tolist()
        fresh = [i for i, key in enumerate(keys) if key not in self._played]
        for i, seconds in zip(fresh, played_s(self._cost_model, batch[fresh]), strict=True):
            self._played[keys[i]] = float(seconds)
        return np.asarray([self._played[key] for key in keys])
