"""The distribution that `autosync_lab.space.sampler` claims, from its words: the chance of any one strategy."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from autosync_lab.cluster import ClusterSpec
from autosync_lab.cluster.bound import row_shares, server_shares
from autosync_lab.model import ModelSpec
from autosync_lab.space import Domain
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, shard_gradient_nbytes
from autosync_lab.strategy.spec import COMPRESSORS
from tests.space.brute_force import kind_of

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
"""Gauss-Legendre quadrature: exact up to degree 23, far above the decisions of a tiny strategy."""


def integral(of: Callable[[float], float]) -> float:
    """Integral of a polynomial from 0 to 1."""
    return float(sum(w / 2 * of((x + 1) / 2) for x, w in zip(NODES, WEIGHTS, strict=True)))


def log_uniform(low: int, high: int) -> dict[int, float]:
    """Chances of the whole numbers from `low` to `high`."""
    return {k: math.log((k + 1) / k) / math.log((high + 1) / low) for k in range(low, high + 1)}


def chance(strategy: Strategy, model: ModelSpec, cluster: ClusterSpec, domain: Domain) -> float:
    """Chance of a strategy of the domain."""
    most = max(p.shards for d in domain.variables for p in d.partitions)
    ks = log_uniform(2, most) if most > 2 else {2: 1.0}
    cut = sum(
        weight * integral(lambda q, k=k: _partitions(strategy, domain, q, k))  # type: ignore[misc]
        for k, weight in ks.items()
    )
    served = integral(lambda p: _servers(strategy, domain, p))
    formats = integral(lambda r: _formats(strategy, model, domain, r))
    places = _placement(strategy, model, cluster, domain)
    return cut * served * formats * places * _groups(strategy, model, domain) / len(domain.settings)


def _partitions(strategy: Strategy, domain: Domain, q: float, k: int) -> float:
    result = 1.0
    for entry, left in zip(strategy.variables, domain.variables, strict=True):
        whole = any(p.shards == 1 for p in left.partitions)
        cuts = [p for p in left.partitions if 2 <= p.shards <= k]
        if not cuts and not whole:
            fewest = min(p.shards for p in left.partitions)
            cuts = [p for p in left.partitions if p.shards == fewest]
        chances = {(p.axis, p.shards): (q if whole else 1.0) / len(cuts) for p in cuts}
        if whole:
            chances[None, 1] = 1.0 - q if cuts else 1.0
        result *= chances.get((entry.axis, len(entry.shards)), 0.0)
    return result


def _servers(strategy: Strategy, domain: Domain, p: float) -> float:
    result = 1.0
    for entry, left in zip(strategy.variables, domain.variables, strict=True):
        kinds = [s.kind for s in entry.shards]
        if domain.one_synchronizer:
            assert len(set(kinds)) == 1
            kinds = kinds[:1]
        if left.parameter_server and left.all_reduce:
            result *= math.prod(p if kind == "ps" else 1.0 - p for kind in kinds)
    return result


def _formats(strategy: Strategy, model: ModelSpec, domain: Domain, r: float) -> float:
    result = 1.0
    for variable, entry, left in zip(model.variables, strategy.variables, domain.variables, strict=True):
        for shard in entry.shards:
            if isinstance(shard, ParameterServer):
                result /= len(left.local_replication)
                continue
            result /= len(left.densified)
            if kind_of(variable, shard) == "rows":
                continue
            lossy = [c for c in left.compressors if c != 0]
            if len(lossy) == len(left.compressors):
                result /= len(lossy)
            elif lossy:
                result *= 1.0 - r if COMPRESSORS.index(shard.compressor) == 0 else r / len(lossy)
    return result


def _placement(strategy: Strategy, model: ModelSpec, cluster: ClusterSpec, domain: Domain) -> float:
    if not domain.balanced_placement:
        if domain.greedy_placement:
            return 1.0
        return math.prod(
            1.0 / len(left.destinations)
            for entry, left in zip(strategy.variables, domain.variables, strict=True)
            for s in entry.shards
            if isinstance(s, ParameterServer)
        )
    names = [n.name for n in cluster.nodes]
    owned = [
        [(b, s.destination) for b, s in zip(shard_gradient_nbytes(v, e), e.shards, strict=True) if s.kind == "ps"]
        for v, e in zip(model.variables, strategy.variables, strict=True)
    ]
    shares = (server_shares(cluster), row_shares(cluster))
    totals = [
        sum(b for o, v in zip(owned, model.variables, strict=True) if v.sparse == rows for b, _ in o)
        for rows in (False, True)
    ]
    lacking_of = [[x * total for x in of] for of, total in zip(shares, totals, strict=True)]
    sizes = [max(shard_gradient_nbytes(v, e)) for v, e in zip(model.variables, strategy.variables, strict=True)]
    result = 1.0
    for v in sorted(range(len(sizes)), key=lambda v: -sizes[v]):
        kind = int(model.variables[v].sparse)
        lacking = lacking_of[kind]
        for nbytes, destination in owned[v]:
            weight = [math.exp(x / (totals[kind] / len(names))) if x > 0 else 0.0 for x in lacking]
            result *= weight[names.index(destination)] / sum(weight)
            lacking[names.index(destination)] -= nbytes
    return result


def _groups(strategy: Strategy, model: ModelSpec, domain: Domain) -> float:
    order = sorted(range(len(model.variables)), key=lambda v: (model.variables[v].ready, -v))
    kinds: dict[str, list[tuple[int | None, float]]] = defaultdict(list)
    for v in order:
        variable, entry = model.variables[v], strategy.variables[v]
        for shard in entry.shards:
            if isinstance(shard, AllReduce):
                kinds[kind_of(variable, shard) or ""].append((shard.group, variable.nbytes / len(entry.shards)))
    return math.prod(_of_kind([g for g, _ in m], [b for _, b in m], domain.adjacent_groups) for m in kinds.values())


def _of_kind(groups: Sequence[int | None], nbytes: Sequence[float], adjacent: bool) -> float:
    result = 0.0
    for number, weight in log_uniform(1, len(groups)).items():
        if adjacent:
            middles = np.cumsum(nbytes) - np.asarray(nbytes) / 2
            parts = [int(m / sum(nbytes) * number) for m in middles]
            result += weight * (_first_seen(parts) == _first_seen(groups) and None not in groups)
        else:
            blocks = len({g for g in groups if g is not None})
            result += weight * math.perm(number, blocks) / (number + 1) ** len(groups)
    return result


def _first_seen(ids: Sequence[int | None]) -> list[int]:
    seen = list(dict.fromkeys(ids))
    return [seen.index(i) for i in ids]
