"""A made-up cluster that differs from what the cost model believes, and its trials."""

from functools import cache

import numpy as np

from autosync_lab.cluster import load_cluster
from autosync_lab.model import load_model
from autosync_lab.simulator import CostModel, PairTrials
from autosync_lab.simulator.learned.pair_trials import played_s
from autosync_lab.space import StrategySpace
from autosync_lab.space.batch import ALL_REDUCED


@cache
def pair(model: str = "vgg-mini", cluster: str = "emulated-4", count: int = 100) -> PairTrials:
    """Random strategies; the more bytes are on servers, the slower they are than the cost model believes."""
    space = StrategySpace(load_model(model), load_cluster(cluster), lossy=True)
    batch = space.sample(count, 0)
    nbytes = batch.share * np.asarray([v.gradient_nbytes for v in space.model.variables])[batch.variable]
    served = batch.destination != ALL_REDUCED
    share = np.bincount(batch.candidate[served], nbytes[served], count) / np.bincount(batch.candidate, nbytes, count)
    cost = CostModel(space.model, space.cluster)
    times = played_s(cost, batch) * np.exp(share - 0.5)
    noise = np.exp(np.random.default_rng(0).normal(0.0, 0.02, count))
    return PairTrials(cost, batch, times * noise, simulated=True)


LEARNED, HELD_OUT = slice(0, 60), slice(60, 100)
