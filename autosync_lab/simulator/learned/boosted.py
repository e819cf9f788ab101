"""`Boosted`: gradient-boosted trees with the pairwise loss (LightGBM)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput, MissingExtra
from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.learned.pair_trials import Lesson
from autosync_lab.simulator.learned.ranker import Ranker, State, check_shapes, inputs
from autosync_lab.simulator.learned.ranknet import ranknet_gradient

TREES = 150
PARAMETERS: dict[str, Any] = {
    "num_leaves": 7,
    "learning_rate": 0.05,
    "min_data_in_leaf": 4,
    "min_sum_hessian_in_leaf": 0.0,
    "lambda_l2": 10.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}
"""Small trees, strongly shrunk: there are tens of trials. One thread, as sums in another order give other trees."""


class Boosted(Ranker):
    """Trees that correct the prior, grown on the pairwise loss within each pair (Ke et al., "LightGBM", NIPS 2017).

    Parameters
    ----------
    seed : int
        Of the rows and features that each tree sees.

    Raises
    ------
    MissingExtra
        If LightGBM is not installed.
    """

    name = "boosted"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        _lightgbm()

    def learn(self, lessons: Sequence[Lesson], start: State | None = None) -> State:
        lightgbm = _lightgbm()
        x = np.concatenate([inputs(lesson.encoded) for lesson in lessons])
        target = np.concatenate([lesson.target for lesson in lessons])
        known = np.concatenate([lesson.encoded.base for lesson in lessons])
        if start is not None:
            known = known + _grown(start, x)
        before = [] if start is None else start["trees"].tolist()
        features = np.asarray([x.shape[1]])
        if len(x) < 2 * PARAMETERS["min_data_in_leaf"]:
            # Too few to split.
            return {"trees": np.asarray(before, np.str_), "features": features}
        ends = np.cumsum([len(lesson) for lesson in lessons])[:-1]

        def objective(grown: npt.NDArray[np.float64], _: Any) -> tuple[Any, Any]:
            scores, targets = np.split(known + grown, ends), np.split(target, ends)
            parts = [ranknet_gradient(s, t) for s, t in zip(scores, targets, strict=True)]
            return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

        trees = lightgbm.train(
            PARAMETERS | {"objective": objective, "seed": self._seed}, lightgbm.Dataset(x), num_boost_round=TREES
        )
        return {"trees": np.asarray([*before, trees.model_to_string()]), "features": features}

    def correction(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        return _grown(state, inputs(encoded))

    def check(self, state: State, encoded: Encoded) -> None:
        check_shapes(state, {"trees": (len(state.get("trees", ())),), "features": (1,)}, texts=("trees",))
        count = inputs(encoded).shape[1]
        if state["features"].tolist() != [count]:
            raise InvalidInput(f"these trees do not read {count} features", received=state["features"].tolist())
        try:
            self.correction(state, encoded)
        except Exception as error:
            raise InvalidInput(f"LightGBM does not take these trees: {error}", where="trees") from None


def _grown(state: State, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sum of all trees, [n]."""
    lightgbm = _lightgbm()
    parts = [lightgbm.Booster(model_str=t).predict(x, raw_score=True, num_threads=1) for t in state["trees"].tolist()]
    return np.asarray(np.sum([np.zeros(len(x)), *parts], axis=0), np.float64)


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise MissingExtra("lightgbm", "study") from None
    return lightgbm
