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
"""

from dataclasses import dataclass
from math import comb, log

import numpy as np
import numpy.typing as npt

from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.domain import Domain, VariableDomain

NEGLIGIBLE = -40.0
"""Natural logarithm of what is left out beside 1."""

COARSE_POINTS = 20_000
"""Terms that are looked at at once while the largest ones are sought."""

Floats = npt.NDArray[np.float64]


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

    def log_by_shards(self, x: Floats, one_synchronizer: bool) -> Floats:
        """log of what the partitions of each number of shards sum to, [numbers of shards, T]."""
        shards = np.asarray([k for k, _ in self.partitions], float)[:, None]
        times = np.log([t for _, t in self.partitions])[:, None]
        with np.errstate(divide="ignore"):
            if one_synchronizer:
                return np.asarray(
                    times + np.logaddexp(shards * np.log(float(self.served)), shards * np.log(self.reduced(x)))
                )
            return np.asarray(times + shards * np.log(self.served + self.reduced(x)))


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


def mixture(model: ModelSpec, domain: Domain) -> Mixture:
    """The terms of a domain's size that count; `balanced_placement` is left aside."""
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
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, max([*ends, 2]))))])

    def log_terms(points: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
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
            log_weight = log_weight + count * _log_sum(signature.log_by_shards(x, domain.one_synchronizer))
        return log_weight, x

    low, high = [0] * len(lanes), ends
    while True:
        strides = _strides(low, high)
        grid = [np.arange(a, b, s) for a, b, s in zip(low, high, strides, strict=True)]
        points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(lanes)).astype(np.int64)
        log_weight, x = log_terms(points)
        near = log_weight > log_weight.max() + (NEGLIGIBLE if max(strides, default=1) == 1 else 2 * NEGLIGIBLE)
        if max(strides, default=1) == 1:
            return Mixture(lanes, signatures, log_weight[near], x[near])
        low = [max(0, int(p.min()) - s) for p, s in zip(points[near].T, strides, strict=True)]
        high = [min(e, int(p.max()) + s + 1) for p, e, s in zip(points[near].T, ends, strides, strict=True)]


def _strides(low: list[int], high: list[int]) -> list[int]:
    """Steps with which a grid over the ranges has about `COARSE_POINTS` points at most, or none is left to refine."""
    lengths = np.asarray([b - a for a, b in zip(low, high, strict=True)], float)
    strides = np.ones(len(lengths))
    while np.prod(np.ceil(lengths / strides)) > COARSE_POINTS and (lengths / strides > 8).any():
        strides[np.argmax(lengths / strides)] *= 2
    # Where the window that counts is wide itself, it is looked at whole in the end.
    if (lengths / strides <= 64).all() and np.prod(lengths) <= 100 * COARSE_POINTS:
        strides[:] = 1
    return [int(s) for s in strides]


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
