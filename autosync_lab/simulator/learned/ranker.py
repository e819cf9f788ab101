"""The seam `Ranker`: what is learned of strategies' order, apart from where it is used and kept."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned.pair_trials import Lesson

State = Mapping[str, npt.NDArray[Any]]
"""Everything that a ranker has learned, as arrays of numbers and texts."""


class Ranker(ABC):
    """Learns from lessons what is to be added to the logarithm of the prior (of 1 where there is none).

    It has no state of its own: `learn` returns what it learned, a function of its arguments, the ranker's seed and
    nothing else, and `correction` and `deviation` use it. What a pair's strategies have in common is not its business:
    lessons of several pairs are compared within each pair only.
    """

    name: str
    """How people ask for it."""

    @abstractmethod
    def learn(self, lessons: Sequence[Lesson], start: State | None = None) -> State:
        """Learn from one lesson or more, each of another pair.

        With `start`, what was learned elsewhere, it is what is believed until these lessons say otherwise.
        """

    @abstractmethod
    def correction(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        """What is added to `encoded.base`, [n]."""

    def deviation(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64] | None:
        """Standard deviation of `correction`, [n]; None where a ranker knows of none."""
        return None

    @abstractmethod
    def check(self, state: State, encoded: Encoded) -> None:
        """Raise InvalidInput if this is no state that the ranker has learned of such features."""


def inputs(encoded: Encoded) -> npt.NDArray[np.float64]:
    """What rankers of whole strategies read, [n, G]: their features, and the prior if there is one."""
    if encoded.prior_s is None:
        return encoded.of_strategies
    return np.column_stack([encoded.of_strategies, encoded.base])


LEAST_SCALE = 0.02
"""Features that differ less in all lessons are taken to differ this much: else a new strategy could be far out."""

FARTHEST = 3.0
"""Standardized features beyond this are taken to be this: no extrapolation."""


def standards(lessons: Sequence[Lesson]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean and scale of all inputs over all lessons, [G] each."""
    rows = np.concatenate([inputs(lesson.encoded) for lesson in lessons])
    return rows.mean(axis=0), np.maximum(rows.std(axis=0), LEAST_SCALE)


def standardized(state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
    """Inputs in units of the state's `mean` and `scale`, [n, G]."""
    return np.clip((inputs(encoded) - state["mean"]) / state["scale"], -FARTHEST, FARTHEST)


def check_shapes(state: State, shapes: Mapping[str, tuple[int, ...]], texts: Collection[str] = ()) -> None:
    """Raise InvalidInput unless the state has exactly these arrays, of finite numbers or, in `texts`, of texts."""
    if set(state) != set(shapes):
        raise InvalidInput("its arrays are not those of this ranker", received=", ".join(sorted(state)))
    for name, shape in shapes.items():
        found = state[name]
        if found.shape != shape:
            raise InvalidInput("an array is not of its shape", where=name, received=str(found.shape))
        if found.dtype.kind not in ("U" if name in texts else "fi"):
            raise InvalidInput("an array is not of its type", where=name, received=str(found.dtype))
        if name not in texts and not np.isfinite(found).all():
            raise InvalidInput("an array has numbers that are not finite", where=name)
