"""How many strategies a domain has, exactly.

All-reduced shards are put into groups, and the number of ways to do so depends on how many shards there are, so the
choices of the variables are not independent and the size of a space is no product. But it is a sum of products. Let an
all-reduced shard count x, a server's shard the number of its choices, and let P_v(x) be what the choices of variable v
then sum to. Let shards choose among C compressors.

- Any groups, and shards in none: m shards can be grouped in Bell(m + 1) ways (those in no group are the block of one
  element more), and with compressors in the sum over splits of m of their product. By Dobinski's formula that is

      W(m) = exp(-C) sum_j C^j / j! (j + C)^m

  so the size is exp(-C) sum_j C^j / j! prod_v P_v(j + C).
- Contiguous groups, every shard in one: 2^(m - 1) ways for m > 0, 1 for none; with compressors

      W(m) = 2^-C sum_i binomial(C, i) (2 i)^m.

Compressors that not all variables may use make several such sums, one for each set of compressors that come together
(a "lane"), and all-gathered rows are a lane of their own. Each term of the whole sum is a product over variables, which
is also what makes uniform draws possible (`autosync_lab.space.uniform`).

Sums are over logarithms; a term is left out if it is below exp(-40) of the largest one, far beyond double precision.
Where the terms make a wide bell, every so many of them are summed: by Poisson's summation formula that is as exact.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import comb, log

import numpy as np
import numpy.typing as npt

from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.domain import Domain, VariableDomain

NEGLIGIBLE = -40.0
"""Natural logarithm of what is left out beside 1."""

COARSE_POINTS = 20_000
"""Terms of the grid on which the largest ones are sought first."""

RIDGE_POINTS = 1_000
"""Points of a grid near the largest term that show all of where it is large."""

PORTION = 50_000
"""Terms that are looked at at once."""

STEP = 0.8
"""Steps of a sum over a bell, in its deviations: what it misses is exp(-2 (pi / 0.8)^2), some 4e-14."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lane:
    """Compressors that the same variables may use (indices into `COMPRESSORS`); None for all-gathered rows."""

    compressors: tuple[int, ...] | None

    @property
    def width(self) -> int:
        """Number of compressors: C."""
        return 1 if self.compressors is None else len(self.compressors)


@dataclass(frozen=True)
class Signature:
    """What the number of a variable's choices depends on: numbers of shards with the number of partitions that have
    them, the choices of a server's shard, and which lanes an all-reduced shard may take."""

    partitions: tuple[tuple[int, int], ...]
    served: int
    lanes: tuple[bool, ...]

    def reduced(self, x: Floats) -> Floats:
        """What an all-reduced shard counts, [T]; `x` is [T, lanes]."""
        return np.asarray(x @ np.asarray(self.lanes, float))

    def log_by_shards(self, reduced: Floats, one_synchronizer: bool) -> Floats:
        """log of what the partitions of each number of shards sum to, [numbers of shards, T]; `reduced` is [T]."""
        shards = np.asarray([k for k, _ in self.partitions], float)[:, None]
        times = np.log([t for _, t in self.partitions])[:, None]
        with np.errstate(divide="ignore"):
            if one_synchronizer:
                return np.asarray(times + np.logaddexp(shards * np.log(float(self.served)), shards * np.log(reduced)))
            return np.asarray(times + shards * np.log(self.served + reduced))


@dataclass(frozen=True)
class Mixture:
    """A domain as a sum of products over variables.

    `log_weight` [T] is the log of each term; `x` [T, lanes] is what an all-reduced shard of each lane counts in it.
    """

    lanes: tuple[Lane, ...]
    signatures: tuple[Signature, ...]
    log_weight: Floats
    x: Floats

    @property
    def log_size(self) -> float:
        """Natural logarithm of the number of strategies, but for graph-wide settings."""
        return float(_log_sum(self.log_weight))


def log10_size(model: ModelSpec, domain: Domain) -> float:
    """Decimal logarithm of the number of strategies of a domain, `balanced_placement` left aside."""
    return (mixture(model, domain).log_size + log(len(domain.settings))) / log(10)


def mixture(model: ModelSpec, domain: Domain, rng: np.random.Generator | None = None) -> Mixture:
    """The terms of a domain's size that count; `balanced_placement` is left aside.

    Where every so many terms are summed, `rng` draws the first one, so that any term may be among them.
    """
    lanes = _lanes(model, domain)
    signatures = tuple(
        _signature(v.sparse, d, lanes, domain.greedy_placement)
        for v, d in zip(model.variables, domain.variables, strict=True)
    )
    ends = []
    for i, lane in enumerate(lanes):
        most = sum(s.partitions[-1][0] for s in signatures if s.lanes[i])
        # The terms j^m / j! fall fast where j exceeds the larger of m and a few dozen.
        ends.append(lane.width + 1 if domain.adjacent_groups else 60 + 2 * most)
    times: dict[Signature, int] = {}
    for signature in signatures:
        times[signature] = times.get(signature, 0) + 1
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 * max([*ends, 2]))))])

    def log_terms(points: Integers) -> tuple[Floats, Floats]:
        log_weight, x = np.zeros(len(points)), np.empty(points.shape)
        for i, lane in enumerate(lanes):
            j, c = points[:, i], lane.width
            if domain.adjacent_groups:
                log_weight += np.log([comb(c, int(k)) for k in range(c + 1)])[j] - c * log(2)
                x[:, i] = 2 * j
            else:
                log_weight += j * log(c) - c - log_factorial[j]
                x[:, i] = j + c
        for signature, count in times.items():
            # Many points differ in what their lanes are, and few in what they sum to.
            reduced, which = np.unique(signature.reduced(x), return_inverse=True)
            log_weight += count * _log_sum(signature.log_by_shards(reduced, domain.one_synchronizer))[which]
        return log_weight, x

    strides = _first_strides(ends)
    offset = [0 if rng is None else int(rng.integers(s)) for s in strides]
    grid = [np.arange(o, max(e, o + 1), s) for o, e, s in zip(offset, ends, strides, strict=True)]
    points = np.asarray([*itertools.product(*grid)], np.int64)
    while True:
        log_weight, x = _in_portions(log_terms, points)
        # The largest terms may lie along a ridge that the grid meets in few points: follow it.
        while len(beside := _beside(points, log_weight > log_weight.max() + NEGLIGIBLE, strides, ends)):
            more_weight, more_x = _in_portions(log_terms, beside)
            points, x = np.concatenate([points, beside]), np.concatenate([x, more_x])
            log_weight = np.concatenate([log_weight, more_weight])
        near = log_weight > log_weight.max() + NEGLIGIBLE
        too_wide = _too_wide(points[near], log_weight[near], strides)
        if not too_wide.any():
            return Mixture(lanes, signatures, log_weight[near] + np.log(strides).sum(), x[near])
        widest = int(np.argmax(np.where(too_wide, strides, 0)))
        strides[widest] //= 2
        step = np.where(np.arange(len(lanes)) == widest, strides, 0)
        points = _fresh(points[:0], points[near][:, None] + np.stack([-step, 0 * step, step]), strides, ends)


def _first_strides(lengths: list[int]) -> Integers:
    """Powers of two: steps of a grid of about `COARSE_POINTS` points at most, of 8 or so along an axis at least."""
    strides = np.ones(len(lengths), np.int64)
    wide = np.asarray(lengths, float)
    while np.prod(np.ceil(wide / strides)) > COARSE_POINTS and (wide / strides > 8).any():
        strides[np.argmax(wide / strides)] *= 2
    return strides


def _in_portions(of: Callable[[Integers], tuple[Floats, Floats]], points: Integers) -> tuple[Floats, Floats]:
    parts = [of(points[i : i + PORTION]) for i in range(0, len(points), PORTION)]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _beside(points: Integers, near: npt.NDArray[np.bool_], strides: Integers, ends: list[int]) -> Integers:
    """What a grid has next to its points near the largest one, along one axis or two, and is not there yet; nothing
    where these are many."""
    if near.sum() > RIDGE_POINTS:
        return points[:0]
    axes = np.diag(strides)
    steps = [sign * a for a in axes for sign in (1, -1)]
    steps += [sign * (a - b) for a, b in itertools.combinations(axes, 2) for sign in (1, -1)]
    if not steps:
        return points[:0]
    return _fresh(points, points[near][:, None] + np.asarray(steps), strides, ends)


def _fresh(points: Integers, more: Integers, strides: Integers, ends: list[int]) -> Integers:
    """Which points of a grid, [..., lanes], are within its bounds and not among some others; each once."""
    more = more.reshape(-1, len(strides))
    more = more[((more >= 0) & (more < ends)).all(axis=1)]
    both = np.concatenate([points, more])
    if not len(more):
        return more
    cell = (both - both.min(axis=0)) // strides
    _, first = np.unique(np.ravel_multi_index(tuple(cell.T), tuple(cell.max(axis=0) + 1)), return_index=True)
    return np.asarray(both[np.sort(first[first >= len(points)])])


def _too_wide(points: Integers, log_weight: Floats, strides: Integers) -> npt.NDArray[np.bool_]:
    """Along which axes a sum over every so many terms is not yet, but for the factor, that over all of them.

    By Poisson's summation formula what a step h misses of a bell of deviation s is exp(-2 (pi s / h)^2).
    """
    weight = np.exp(log_weight - log_weight.max())
    spread = (
        np.atleast_2d(np.cov(points.T, aweights=weight, ddof=0)) if len(points) > 1 else np.zeros((len(strides),) * 2)
    )
    deviation = np.sqrt(np.maximum(np.diag(spread), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.nan_to_num(spread / np.outer(deviation, deviation))
    # Lanes that compete for shards make a bell that is narrower across than its deviations say.
    narrowest = max(0.0, np.linalg.eigvalsh(alike).min(initial=1.0))
    bell = (STEP * deviation * np.sqrt(narrowest) >= strides) & (points.min(axis=0) >= strides)
    return np.asarray((strides > 1) & ~bell)


def _lanes(model: ModelSpec, domain: Domain) -> tuple[Lane, ...]:
    users: dict[int, list[int]] = {}
    rows = False
    for v, (variable, left) in enumerate(zip(model.variables, domain.variables, strict=True)):
        if not left.all_reduce:
            continue
        rows |= variable.sparse and False in left.densified
        if not variable.sparse or True in left.densified:
            for compressor in left.compressors:
                users.setdefault(compressor, []).append(v)
    together: dict[tuple[int, ...], list[int]] = {}
    for compressor in sorted(users):
        together.setdefault(tuple(users[compressor]), []).append(compressor)
    return (*(Lane(tuple(c)) for c in together.values()), *([Lane(None)] if rows else []))


def _signature(sparse: bool, domain: VariableDomain, lanes: tuple[Lane, ...], greedy: bool) -> Signature:
    counts: dict[int, int] = {}
    for partition in domain.partitions:
        counts[partition.shards] = counts.get(partition.shards, 0) + 1
    places = 1 if greedy else len(domain.destinations)
    return Signature(
        tuple(sorted(counts.items())),
        places * len(domain.local_replication) if domain.parameter_server else 0,
        tuple(_may_take(sparse, domain, lane) for lane in lanes),
    )


def _may_take(sparse: bool, domain: VariableDomain, lane: Lane) -> bool:
    if not domain.all_reduce:
        return False
    if lane.compressors is None:
        return sparse and False in domain.densified
    return (not sparse or True in domain.densified) and lane.compressors[0] in domain.compressors


def _log_sum(values: Floats) -> Floats:
    """log of the sum of exp along the first axis."""
    most = values.max(axis=0)
    finite = np.where(np.isneginf(most), 0.0, most)
    with np.errstate(divide="ignore"):
        return np.asarray(finite + np.log(np.exp(values - finite).sum(axis=0)))
