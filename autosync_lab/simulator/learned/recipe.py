"""`Recipe`: everything that decides what a learned simulator learns from given trials."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from autosync_lab.errors import InvalidInput, MissingExtra
from autosync_lab.simulator.features import FeatureSet
from autosync_lab.simulator.learned.ensemble import Ensemble
from autosync_lab.simulator.learned.gaussian_process import GaussianProcess
from autosync_lab.simulator.learned.linear import Linear
from autosync_lab.simulator.learned.ranker import Ranker

MOST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what a learned simulator learns from given trials.

    Parameters
    ----------
    ranker : str
        One of `RANKERS`.
    features : {"raw", "predefined", "both"}
    prior : bool
        Correct the cost model's prediction, instead of predicting from the features alone.
    seed : int
        Same seed and same trials, same predictions.

    Raises
    ------
    InvalidInput
        If one of them is none of these.
    """

    ranker: str
    features: FeatureSet = "both"
    prior: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ranker not in RANKERS:
            raise InvalidInput("unknown ranker", received=self.ranker, valid=RANKERS)
        if self.features not in get_args(FeatureSet):
            raise InvalidInput("unknown features", received=self.features, valid=get_args(FeatureSet))
        if not isinstance(self.prior, bool):
            raise InvalidInput("`prior` is true or false", received=self.prior)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed <= MOST_SEED:
            raise InvalidInput(f"a seed is a whole number from 0 to {MOST_SEED}", received=self.seed)

    def make(self) -> Ranker:
        """The ranker.

        Raises
        ------
        MissingExtra
            If it needs a package that is not installed.
        """
        return RANKERS[self.ranker](self.seed)


def _boosted(seed: int) -> Ranker:
    from autosync_lab.simulator.learned.boosted import Boosted

    return Boosted(seed)


def _rnn(seed: int) -> Ranker:
    _need_tensorflow()
    from autosync_lab.simulator.learned.rnn import Rnn

    return Rnn(seed)


def _gat(seed: int) -> Ranker:
    _need_tensorflow()
    from autosync_lab.simulator.learned.gat import Gat

    return Gat(seed)


def _ensemble(seed: int) -> Ranker:
    return Ensemble([GaussianProcess(), _boosted(seed), _boosted(seed + 1)])


def _need_tensorflow() -> None:
    import importlib.util

    from autosync_lab.model.quiet_tensorflow import import_tensorflow

    for package in ("tensorflow", "keras"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "tensorflow")
    import_tensorflow()


RANKERS: dict[str, Callable[[int], Ranker]] = {
    "linear": lambda _: Linear(),
    "gp": lambda _: GaussianProcess(),
    "boosted": _boosted,
    "rnn": _rnn,
    "gat": _gat,
    "ensemble": _ensemble,
}
"""How to make each ranker, of a seed."""
