"""RankNet's pairwise loss, with targets that know how noisy measured times are.

Source: Burges et al., "Learning to rank using gradient descent", ICML 2005: the chance that i is slower than j is
sigmoid((s_i - s_j) / NOISE), and its cross entropy to a target chance is minimized. With targets
sigmoid((t_i - t_j) / NOISE) of logarithms of measured times t, scores that minimize it are logarithms of times too.
"""

import numpy as np
import numpy.typing as npt

NOISE = 0.07
"""A pair of strategies whose times differ by this factor, less 1, is in the right order with odds of e to 1."""


def ranknet_gradient(
    score: npt.NDArray[np.float64], target: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """First and second derivative, [n] each, of the loss: the mean over j of pairs (i, j), summed over i."""
    n = max(1, len(score) - 1)
    chance = _sigmoid((score[:, None] - score) / NOISE)
    wanted = _sigmoid((target[:, None] - target) / NOISE)
    first = (chance - wanted).sum(axis=1) / (NOISE * n)
    # Less its distance to itself, which never changes: 1/2 (1 - 1/2).
    second = ((chance * (1.0 - chance)).sum(axis=1) - 0.25) / (NOISE**2 * n)
    return first, second


def ranknet_loss(score: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> float:
    """The loss: cross entropy of every pair's order, summed over i < j, by n - 1."""
    n = max(1, len(score) - 1)
    i, j = np.triu_indices(len(score), 1)
    apart = (score[i] - score[j]) / NOISE
    wanted = _sigmoid((target[i] - target[j]) / NOISE)
    return float(np.sum(np.logaddexp(0.0, apart) - wanted * apart) / n)


def _sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
