"""`Ensemble`: several rankers, their mean, and how far they disagree."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned.pair_trials import Lesson
from autosync_lab.simulator.learned.ranker import Ranker, State


class Ensemble(Ranker):
    """The mean of rankers that each learn by themselves.

    Its variance is that between its members, plus the mean of those that they report (Lakshminarayanan et al., "Simple
    and scalable predictive uncertainty estimation using deep ensembles", NIPS 2017).

    Parameters
    ----------
    members : sequence of Ranker
        Two or more, of different kinds or seeds.
    """

    name = "ensemble"

    def __init__(self, members: Sequence[Ranker]) -> None:
        if len(members) < 2:
            raise InvalidInput("an ensemble has two members or more", received=len(members))
        self._members = tuple(members)

    def learn(self, lessons: Sequence[Lesson], start: State | None = None) -> State:
        return {
            f"{i}/{name}": value
            for i, member in enumerate(self._members)
            for name, value in member.learn(lessons, None if start is None else _of_member(start, i)).items()
        }

    def correction(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        return np.asarray(np.mean(self._said(state, encoded), axis=0))

    def deviation(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        reported = [m.deviation(_of_member(state, i), encoded) for i, m in enumerate(self._members)]
        own = [np.square(deviation) for deviation in reported if deviation is not None]
        variance = np.var(self._said(state, encoded), axis=0) + (np.mean(own, axis=0) if own else 0.0)
        return np.asarray(np.sqrt(variance))

    def check(self, state: State, encoded: Encoded) -> None:
        for i, member in enumerate(self._members):
            member.check(_of_member(state, i), encoded)
        known = tuple(f"{i}/" for i in range(len(self._members)))
        for name in state:
            if not name.startswith(known):
                raise InvalidInput("an array is of no member", received=name)

    def _said(self, state: State, encoded: Encoded) -> list[npt.NDArray[np.float64]]:
        return [member.correction(_of_member(state, i), encoded) for i, member in enumerate(self._members)]


def _of_member(state: State, i: int) -> State:
    prefix = f"{i}/"
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
