"""A batch that is good and diverse."""

import numpy as np
import numpy.typing as npt

from autosync_lab.space.batch import StrategyBatch
from autosync_lab.space.similarity import Likeness

SIMILARITY_WEIGHT = 0.5
"""How many standard deviations of the score the likeness to what is picked already may cost: alpha / beta."""


def diverse_pick(batch: StrategyBatch, score: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Indices of `count` candidates, picked one after the other by -score - weight * mean similarity to those picked.

    The sum of pairwise similarities has diminishing returns, so greedy picking is near the best batch (Nemhauser,
    Wolsey and Fisher, 1978; Wei, Iyer and Bilmes, "Submodularity in data subset selection and active learning", 2015).

    Parameters
    ----------
    batch : StrategyBatch
    score : float64 [n]
        Smaller is better.
    count : int
    """
    count = min(count, len(batch))
    if count == 0:
        return np.zeros(0, np.int64)
    spread = score.std()
    worth = -(score - score.mean()) / spread if spread > 0 else np.zeros(len(score))
    likeness = Likeness(batch)
    similarity = np.zeros(len(batch))
    picked: list[int] = []
    left = np.ones(len(batch), np.bool_)
    for k in range(count):
        value = worth - SIMILARITY_WEIGHT * (similarity / k if k else 0.0)
        best = int(np.argmax(np.where(left, value, -np.inf)))
        picked.append(best)
        left[best] = False
        similarity += likeness.to(best)
    return np.asarray(picked, np.int64)
