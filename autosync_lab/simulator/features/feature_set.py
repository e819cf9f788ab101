"""`FeatureSet`: which features a learned simulator reads, and `Encoded`: a batch as it reads it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.features.loads import Loads
from autosync_lab.simulator.features.predefined import COSTS, PREDEFINED_FEATURES, pair_scale_s, predefined_features
from autosync_lab.simulator.features.raw import RAW_FEATURES, raw_features
from autosync_lab.space.batch import StrategyBatch

FeatureSet = Literal["raw", "predefined", "both"]
"""What a strategy says, what that costs by simple sums, or both."""

FEATURE_SETS: tuple[FeatureSet, ...] = get_args(FeatureSet)


def shard_feature_names(features: FeatureSet) -> tuple[str, ...]:
    """Names of a shard's features, in order."""
    costs = tuple(f"its server or collective: {cost}" for cost in COSTS)
    return (RAW_FEATURES if features != "predefined" else ()) + (costs if features != "raw" else ())


def strategy_feature_names(features: FeatureSet) -> tuple[str, ...]:
    """Names of a strategy's features, in order."""
    raw = tuple(f"{how}: {name}" for how in ("by bytes", "by count") for name in RAW_FEATURES)
    more = ("shards, log", "collectives, log", "largest owner's load")
    return (raw + more if features != "predefined" else ()) + (PREDEFINED_FEATURES if features != "raw" else ())


@dataclass(frozen=True)
class Encoded:
    """A batch as numbers.

    Parameters
    ----------
    batch : StrategyBatch
    cost_model : CostModel
        Of the same model and cluster.
    features : {"raw", "predefined", "both"}
    prior_s : float64 [n], optional
        Step times that a cost model predicts, seconds; None where the simulator has no prior.
    """

    batch: StrategyBatch
    cost_model: CostModel
    features: FeatureSet
    prior_s: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def shard_features(self) -> int:
        """Number of a shard's features."""
        return len(shard_feature_names(self.features))

    @property
    def base(self) -> npt.NDArray[np.float64]:
        """Logarithm of the prior in units of `pair_scale_s`, [n]; 0 without one."""
        if self.prior_s is None:
            return np.zeros(len(self.batch))
        return np.asarray(np.log(self.prior_s / pair_scale_s(self.cost_model)))

    @cached_property
    def of_shards(self) -> npt.NDArray[np.float32]:
        """[S, features], as `shard_feature_names`."""
        parts = []
        if self.features != "predefined":
            parts.append(self._raw)
        if self.features != "raw":
            parts.append(np.log1p(self._predefined[1]))
        # Feature by feature in memory, as the raw ones are.
        return np.concatenate([part.T for part in parts]).T

    @cached_property
    def of_strategies(self) -> npt.NDArray[np.float64]:
        """[n, features], as `strategy_feature_names`: shards by the bytes they have, and by their number."""
        parts = []
        if self.features != "predefined":
            first = self.batch.start[: -1 : self.batch.shards.shape[1]]
            share = self._raw[:, [RAW_FEATURES.index("share of bytes")]]
            loads = self._raw[:, RAW_FEATURES.index("owner's load")]
            count = np.diff(np.append(first, len(share)))[:, None]
            collectives = np.diff(self._loads.first_collective)[:, None]
            parts += [
                np.add.reduceat(self._raw * share, first),
                np.add.reduceat(self._raw, first) / count,
                np.log(count),
                np.log(collectives),
                np.maximum.reduceat(loads, first)[:, None],
            ]
        if self.features != "raw":
            parts.append(self.predefined)
        return np.concatenate([np.asarray(p, np.float64) for p in parts], axis=1)

    @property
    def predefined(self) -> npt.NDArray[np.float64]:
        """Logarithms of 1 and the predefined features, [n, 12]."""
        return np.log1p(self._predefined[0])

    @property
    def carrier(self) -> npt.NDArray[np.int64]:
        """Which of the `carriers` each shard is on, [S]: all servers of all candidates, then all collectives."""
        servers = len(self.batch) * len(self.batch.cluster.nodes)
        return np.where(self._loads.served, self._loads.server, servers + self._loads.collective)

    @property
    def carriers(self) -> int:
        """Number of servers and collectives of all candidates together."""
        return len(self.batch) * len(self.batch.cluster.nodes) + int(self._loads.first_collective[-1])

    def take(self, chosen: slice | npt.NDArray[np.generic]) -> "Encoded":
        """Some of the strategies."""
        prior = None if self.prior_s is None else self.prior_s[chosen]
        return Encoded(self.batch[chosen], self.cost_model, self.features, prior)

    def chunks(self, shards: int) -> Iterator["Encoded"]:
        """The strategies in order, in parts of about so many shards."""
        if len(self.batch.destination) <= shards:
            if len(self):
                yield self
            return
        size = max(1, shards * len(self) // len(self.batch.destination))
        for begin in range(0, len(self), size):
            yield self.take(slice(begin, begin + size))

    @cached_property
    def _loads(self) -> Loads:
        return Loads.of(self.batch, self.cost_model)

    @cached_property
    def _raw(self) -> npt.NDArray[np.float32]:
        return raw_features(self.batch, self._loads)

    @cached_property
    def _predefined(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float32]]:
        return predefined_features(self.batch, self.cost_model, self._loads)
