"""`Linear`: ridge regression, with its posterior's standard deviation."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned.pair_trials import Lesson
from autosync_lab.simulator.learned.ranker import Ranker, State, check_shapes, inputs, standardized, standards

PENALTY = 30.0
"""Ridge: a weight is believed as much as that of the start (0 without one) after about so many trials."""

NOISE = 0.07
"""What a linear model leaves unexplained of the logarithm of a step time."""


class Linear(Ranker):
    """Weights of a strategy's features, by least squares with a ridge.

    Least squares of what is left in each pair after its mean is, but for a factor, the sum over pairs of strategies of
    the squared errors of their differences: a ranking loss whose solution needs no iterations.
    """

    name = "linear"

    def learn(self, lessons: Sequence[Lesson], start: State | None = None) -> State:
        if start is None:
            mean, scale = standards(lessons)
            start = {"mean": mean, "scale": scale, "weights": np.zeros(len(mean))}
        begin = np.asarray(start["weights"], np.float64)
        rows = [standardized(start, lesson.encoded) for lesson in lessons]
        x = np.concatenate([row - row.mean(axis=0) for row in rows])
        left = np.concatenate([lesson.left for lesson in lessons])
        precision = x.T @ x + PENALTY * np.eye(x.shape[1])
        return {
            "mean": start["mean"],
            "scale": start["scale"],
            "weights": begin + np.linalg.solve(precision, x.T @ (left - x @ begin)),
            "covariance": NOISE**2 * np.linalg.inv(precision),
        }

    def correction(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        return np.asarray(standardized(state, encoded) @ state["weights"])

    def deviation(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        x = standardized(state, encoded)
        return np.asarray(np.sqrt(np.einsum("ng,gh,nh->n", x, state["covariance"], x)))

    def check(self, state: State, encoded: Encoded) -> None:
        count = inputs(encoded).shape[1]
        check_shapes(state, {"mean": (count,), "scale": (count,), "weights": (count,), "covariance": (count, count)})
