"""`GaussianProcess`: strategies that are alike are off by alike amounts, most of all those of one pair."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned.pair_trials import Lesson, pair_key
from autosync_lab.simulator.learned.ranker import Ranker, State, check_shapes, inputs, standardized, standards

LINEAR = 0.1
SMOOTH = 0.1
"""Standard deviations of the prior's error that follows the features linearly, and in any smooth way; each once for all
pairs and once more for each pair."""

LENGTH = 0.5
"""How far apart strategies are alike, in standard deviations of every feature."""

NOISE = 0.07
"""Standard deviation of the logarithm of a measured time about what any function of the features could say."""

MOST_TRIALS = 3000
"""Trials that it learns from: time grows with their cube. The newest of the last pair are kept, then those before."""


class GaussianProcess(Ranker):
    """Regression with the sum of a linear and a squared exponential kernel, shared by all pairs and of each pair.

    Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapter 2; kernels that are shared
    and of each task as in Bonilla et al., "Multi-task Gaussian process prediction", NIPS 2007. With few trials it stays
    at the prior, and its standard deviation says where.
    """

    name = "gp"

    def learn(self, lessons: Sequence[Lesson], start: State | None = None) -> State:
        if start is None:
            mean, scale = standards(lessons)
            start = {
                "mean": mean,
                "scale": scale,
                "x": np.zeros((0, len(mean))),
                "left": np.zeros(0),
                "pair": np.zeros(0, "U64"),
            }
        fresh = [lesson.key for lesson in lessons]
        keep = ~np.isin(start["pair"], fresh)
        x = [start["x"][keep], *(standardized(start, lesson.encoded) for lesson in lessons)]
        left = [start["left"][keep], *(lesson.left for lesson in lessons)]
        pair = [start["pair"][keep], *(np.full(len(lesson), lesson.key) for lesson in lessons)]
        known = {
            "x": np.concatenate(x)[-MOST_TRIALS:],
            "left": np.concatenate(left)[-MOST_TRIALS:],
            "pair": np.concatenate(pair)[-MOST_TRIALS:],
        }
        factor = _factor(known["x"], known["pair"])
        weights = np.linalg.solve(factor.T, np.linalg.solve(factor, known["left"]))
        return {"mean": start["mean"], "scale": start["scale"], "weights": weights} | known

    def correction(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        new = standardized(state, encoded)
        same = state["pair"] == pair_key(encoded.cost_model)
        return np.asarray(_kernel(new, state["x"], same) @ state["weights"])

    def deviation(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        new = standardized(state, encoded)
        across = _kernel(new, state["x"], state["pair"] == pair_key(encoded.cost_model))
        explained = np.square(np.linalg.solve(_factor(state["x"], state["pair"]), across.T)).sum(axis=0)
        alone = 2.0 * (LINEAR**2 * np.square(new).mean(axis=1) + SMOOTH**2)
        return np.asarray(np.sqrt(np.maximum(alone - explained, 0.0)))

    def check(self, state: State, encoded: Encoded) -> None:
        count = inputs(encoded).shape[1]
        trials = len(state["left"]) if "left" in state else 0
        shapes = {"mean": (count,), "scale": (count,), "x": (trials, count)}
        check_shapes(state, shapes | dict.fromkeys(("left", "pair", "weights"), (trials,)), texts=("pair",))
        if trials > MOST_TRIALS:
            raise InvalidInput(f"at most {MOST_TRIALS} trials", received=trials)


def _factor(x: npt.NDArray[np.float64], pair: npt.NDArray[np.str_]) -> npt.NDArray[np.float64]:
    """Cholesky factor of the covariance of measured trials, [trials, trials]."""
    return np.asarray(np.linalg.cholesky(_kernel(x, x, pair[:, None] == pair) + NOISE**2 * np.eye(len(x))), float)


def _kernel(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], same: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Covariance of what is left at strategies a and b; twice where both are of the same pair."""
    count = a.shape[1]
    dot = a @ b.T
    distance = np.maximum(np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1) - 2.0 * dot, 0.0)
    smooth = np.exp(-distance / (2.0 * count * LENGTH**2))
    return (1.0 + same) * (LINEAR**2 * dot / count + SMOOTH**2 * smooth)
