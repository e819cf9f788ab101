"""How well a simulator ranks: measures of one ranking, and evaluations on trials that it did not learn from."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.corrected import CorrectedCostModel
from autosync_lab.simulator.learned import LearnedSimulator, PairTrials, Recipe, learn

Floats = npt.NDArray[np.float64]

RESAMPLES = 400
"""Of a bootstrap."""

LEVEL = 0.95
"""Of intervals."""

TOP_SHARE = 0.1
"""The share of held-out strategies that counts as proposed: those that a simulator takes to be the fastest."""

Split = Literal["strategy", "pair", "model", "cluster"]
"""What is held out: strategies of each pair; or a pair, a model, or a cluster with all its trials."""

SPLITS: tuple[Split, ...] = get_args(Split)

UNTRAINED = "cost-model"
"""In place of a recipe: the cost model alone."""

CORRECTED = "corrected"
"""In place of a recipe: the cost model as a search corrects it by the pair's own trials."""

Judge = Recipe | Literal["cost-model", "corrected"]


def ranking_accuracy(predicted: Floats, measured: Floats) -> float:
    """Share of pairs of strategies whose order is predicted right; NaN if no two were measured differently.

    Pairs that were measured alike do not count, and those that are predicted alike count half.
    """
    right = _right_pairs(predicted, measured)
    return float(np.nanmean(right)) if np.isfinite(right).any() else math.nan


def _right_pairs(predicted: Floats, measured: Floats) -> Floats:
    """1 if right, 0 if wrong, 0.5 if predicted alike, NaN if measured alike, [n (n - 1) / 2]."""
    i, j = np.triu_indices(len(measured), 1)
    order = np.sign(measured[i] - measured[j])
    return np.where(order == 0, math.nan, 0.5 + 0.5 * order * np.sign(predicted[i] - predicted[j]))


def spearman(predicted: Floats, measured: Floats) -> float:
    """Spearman's rank correlation; ties have their mean rank. NaN where one of both is constant."""
    a, b = (_ranks(x) - (len(x) - 1) / 2 for x in (predicted, measured))
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm > 0 else math.nan


def _ranks(x: Floats) -> Floats:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[inverse]


def regret(predicted: Floats, measured: Floats) -> float:
    """How much slower the strategy that is taken to be the fastest is than the one that is: 1 is twice as slow."""
    return float(measured[np.argmin(predicted)] / measured.min() - 1.0)


def hit_rate(predicted: Floats, measured: Floats, baseline_s: float) -> float:
    """Share of the strategies that are taken to be the fastest (a tenth, at least one) that beat the best baseline."""
    count = max(1, round(TOP_SHARE * len(measured)))
    return float(np.mean(measured[np.argsort(predicted, kind="stable")[:count]] < baseline_s))


def repeat_noise(pairs: Sequence[tuple[str, float]]) -> float:
    """Standard deviation of the logarithm of one measured step time, from strategies that were measured repeatedly.

    Parameters
    ----------
    pairs : sequence of (str, float)
        What was measured, and its step time in seconds.

    Returns
    -------
    float
        NaN if nothing was measured twice.
    """
    times: dict[str, list[float]] = {}
    for name, seconds in pairs:
        times.setdefault(name, []).append(math.log(seconds))
    repeated = [np.asarray(logs) for logs in times.values() if len(logs) > 1]
    if not repeated:
        return math.nan
    squares = sum(float(np.square(logs - logs.mean()).sum()) for logs in repeated)
    return math.sqrt(squares / sum(len(logs) - 1 for logs in repeated))


def noise_ceiling(measured: Floats, noise: float) -> float:
    """Ranking accuracy that the true times would have on such measured ones: what no simulator beats but by luck.

    Two strategies whose measured times differ by d in their logarithms are in their true order with probability
    Phi(d / (sqrt(2) noise)), for normal noise and no other knowledge of them.
    """
    i, j = np.triu_indices(len(measured), 1)
    apart = np.abs(np.log(measured[i] / measured[j]))
    if not noise > 0 or not len(apart):
        return math.nan
    return float(np.mean([0.5 * (1.0 + math.erf(d / (2.0 * noise))) for d in apart]))


@dataclass(frozen=True)
class Fold:
    """One split: trials of other pairs and of the pair itself to learn from, and trials to rank."""

    sources: tuple[PairTrials, ...]
    own: PairTrials
    test: PairTrials
    seed: int


@dataclass(frozen=True)
class RankingScore:
    """How well one pair's held-out trials are ranked: means over `seeds` splits.

    Parameters
    ----------
    pair : str
        MODEL on CLUSTER.
    trained, others, tested : int
        Trials of the pair and of other pairs that it learned from, and held-out ones, in each split.
    seeds : int
    accuracy : float
        Ranking accuracy; `low` and `high` are its 95 percent interval, from a bootstrap over held-out strategies.
    low, high : float
    spearman : float
    hit_rate : float
        See `hit_rate`; NaN without a baseline.
    regret : float
        See `regret`.
    error : float
        Median of |predicted / measured - 1|.
    simulated : bool
        True if a simulator produced the times that were ranked.
    """

    pair: str
    trained: int
    others: int
    tested: int
    seeds: int
    accuracy: float
    low: float
    high: float
    spearman: float
    hit_rate: float
    regret: float
    error: float
    simulated: bool


def folds(pairs: Sequence[PairTrials], split: Split, train: int, seed: int) -> Iterator[Fold]:
    """One fold for each pair whose held-out trials are two or more.

    Parameters
    ----------
    pairs : sequence of PairTrials
        Each of another model or cluster.
    split : {"strategy", "pair", "model", "cluster"}
        With "strategy", it learns from trials of the same pair only; else from all trials of all other pairs, of other
        models, or on other clusters.
    train : int
        Trials of the pair itself to learn from at most: never more than half of them.
    seed : int
        Says which.

    Raises
    ------
    InvalidInput
        If there is no such split.
    """
    if split not in SPLITS:
        raise InvalidInput("unknown split", received=split, valid=SPLITS)
    for pair in pairs:
        order = np.random.default_rng(seed).permutation(len(pair))
        count = min(train, len(pair) // 2)
        test = pair.take(np.sort(order[count:]))
        if len(test) > 1:
            sources = tuple(other for other in pairs if _teaches(other, pair, split))
            yield Fold(sources, pair.take(np.sort(order[:count])), test, seed)


def _teaches(other: PairTrials, pair: PairTrials, split: Split) -> bool:
    same_model = other.cost_model.model.hash == pair.cost_model.model.hash
    same_cluster = other.cost_model.cluster.hash == pair.cost_model.cluster.hash
    return {
        "strategy": False,
        "pair": not (same_model and same_cluster),
        "model": not same_model,
        "cluster": not same_cluster,
    }[split]


def predict_fold(fold: Fold, judge: Judge) -> Floats:
    """What a simulator that learned from a fold says of its held-out strategies, [n].

    Raises
    ------
    MissingExtra
        If the ranker needs a package that is not installed.
    """
    cost = fold.test.cost_model
    if isinstance(judge, Recipe):
        recipe = replace(judge, seed=judge.seed + fold.seed)
        knowledge = learn(fold.sources, recipe) if any(map(len, fold.sources)) else None
        simulator: LearnedSimulator | CorrectedCostModel = LearnedSimulator(cost, recipe, knowledge)
    else:
        simulator = CorrectedCostModel(cost)
    if judge != UNTRAINED and len(fold.own):
        simulator.fit(fold.own.batch, fold.own.step_time_s)
    return simulator.refine(fold.test.batch)


def evaluate(
    pairs: Sequence[PairTrials],
    judge: Judge,
    *,
    split: Split = "strategy",
    train: int = 100,
    seeds: int = 5,
    baselines_s: Mapping[str, float] | None = None,
    on_fold: Callable[[int, int], None] | None = None,
) -> list[RankingScore]:
    """Rank the held-out trials of every pair, over several splits.

    Parameters
    ----------
    pairs : sequence of PairTrials
        Each of another model or cluster.
    judge : Recipe, "cost-model" or "corrected"
        The cost model alone, as a search corrects it, or what is learned by a recipe.
    split, train
        As of `folds`.
    seeds : int
        Splits of each pair, the same ones for every judge.
    baselines_s : mapping of str to float, optional
        Step time of the best baseline, seconds, by `PairTrials.key`.
    on_fold : callable, optional
        Called after each split with how many are done, and how many there are.
    """
    plan = [fold for seed in range(seeds) for fold in folds(pairs, split, train, seed)]
    said: dict[str, list[tuple[Fold, Floats]]] = {}
    for number, fold in enumerate(plan, start=1):
        said.setdefault(fold.test.key, []).append((fold, predict_fold(fold, judge)))
        if on_fold is not None:
            on_fold(number, len(plan))
    return [_score(found, (baselines_s or {}).get(key, math.nan)) for key, found in said.items()]


def _score(found: Sequence[tuple[Fold, Floats]], baseline_s: float) -> RankingScore:
    first = found[0][0]
    ranked = [(predicted, fold.test.step_time_s) for fold, predicted in found]
    low, high = accuracy_interval(ranked)
    hits = [hit_rate(p, m, baseline_s) for p, m in ranked] if math.isfinite(baseline_s) else [math.nan]
    return RankingScore(
        pair=first.test.name,
        trained=len(first.own),
        others=sum(map(len, first.sources)),
        tested=len(first.test),
        seeds=len(found),
        accuracy=float(np.mean([ranking_accuracy(p, m) for p, m in ranked])),
        low=low,
        high=high,
        spearman=float(np.mean([spearman(p, m) for p, m in ranked])),
        hit_rate=float(np.mean(hits)),
        regret=float(np.mean([regret(p, m) for p, m in ranked])),
        error=float(np.mean([np.median(np.abs(p / m - 1)) for p, m in ranked])),
        simulated=first.test.simulated,
    )


def overall(scores: Sequence[RankingScore]) -> RankingScore:
    """Means over pairs; the interval is that of a mean of independent ones. Counts are sums.

    Raises
    ------
    InvalidInput
        If there is no score.
    """
    if not scores:
        raise InvalidInput("at least one score is needed")
    accuracy = float(np.mean([s.accuracy for s in scores]))
    below, above = (
        math.sqrt(sum((s.accuracy - edge) ** 2 for s, edge in zip(scores, edges, strict=True))) / len(scores)
        for edges in ([s.low for s in scores], [s.high for s in scores])
    )
    hits = [s.hit_rate for s in scores if math.isfinite(s.hit_rate)]
    return RankingScore(
        pair=f"{len(scores)} pairs",
        trained=sum(s.trained for s in scores),
        others=sum(s.others for s in scores),
        tested=sum(s.tested for s in scores),
        seeds=max(s.seeds for s in scores),
        accuracy=accuracy,
        low=accuracy - below,
        high=accuracy + above,
        spearman=float(np.mean([s.spearman for s in scores])),
        hit_rate=float(np.mean(hits)) if hits else math.nan,
        regret=float(np.mean([s.regret for s in scores])),
        error=float(np.mean([s.error for s in scores])),
        simulated=any(s.simulated for s in scores),
    )


def accuracy_interval(ranked: Sequence[tuple[Floats, Floats]], seed: int = 0) -> tuple[float, float]:
    """95 percent interval of the mean ranking accuracy of some rankings, each (predicted, measured).

    Percentile bootstrap (Efron and Tibshirani, 1993) over the strategies of each ranking: pairs of strategies are not
    independent, strategies are.
    """
    rng = np.random.default_rng(seed)
    means = np.zeros(RESAMPLES)
    for predicted, measured in ranked:
        n = len(measured)
        right = np.full((n, n), math.nan)
        right[np.triu_indices(n, 1)] = _right_pairs(predicted, measured)
        right = np.fmax(right, right.T)
        counts = np.nan_to_num(right)
        known = np.isfinite(right).astype(float)
        times = rng.multinomial(n, np.full(n, 1.0 / n), RESAMPLES).astype(float)
        pairs = np.einsum("bi,ij,bj->b", times, known, times)
        means += np.einsum("bi,ij,bj->b", times, counts, times) / np.maximum(pairs, 1.0)
    low, high = np.quantile(means / max(1, len(ranked)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
