"""Draws from a domain in which every strategy is equally likely.

The domain's size is a sum of products over variables (`autosync_lab.space.count`): a term is drawn by its weight, then
every variable by itself, then groups. In a term of j groups and C compressors each all-reduced shard takes one of j + C
urns, of which C stand for "no group, this compressor" and the others got a compressor at random (Stam, "Generation of a
random partition of a finite set by an urn model", JCTA 1983). Contiguous groups: in a term of i active compressors each
shard takes one of them, and a coin says whether a group begins with it.
"""

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.arrays import ModelArrays
from autosync_lab.space.batch import ALL_REDUCED, UNGROUPED, StrategyBatch, starts
from autosync_lab.space.count import Mixture, mixture
from autosync_lab.space.domain import Domain
from autosync_lab.space.grouping import KINDS
from autosync_lab.space.sampler import place

Integers = npt.NDArray[np.int64]


def draw_uniform(
    model: ModelSpec, cluster: ClusterSpec, domain: Domain, count: int, rng: np.random.Generator
) -> StrategyBatch:
    """`count` strategies of a domain, all equally likely; `balanced_placement` is left aside."""
    mix = mixture(model, domain, rng)
    weight = np.exp(mix.log_weight - mix.log_weight.max())
    term = rng.choice(len(weight), count, p=weight / weight.sum())
    axis, shards, all_served = _partitions(domain, mix, term, rng)
    start = starts(shards)
    variable = np.repeat(np.tile(np.arange(len(model.variables)), count), shards.ravel())
    candidate = np.repeat(np.arange(count), shards.sum(axis=1))
    x = mix.x[term][candidate]
    lanes = np.asarray([s.lanes for s in mix.signatures], float).reshape(len(mix.signatures), len(mix.lanes))
    by_lane = x * lanes[variable]
    reduced = by_lane.sum(axis=1)
    places = np.asarray([s.served for s in mix.signatures], float)[variable]
    if domain.one_synchronizer:
        served = np.repeat(all_served.ravel(), shards.ravel())
    else:
        served = rng.random(len(variable)) * (places + reduced) < places
    destination = np.full(len(variable), ALL_REDUCED, np.int16)
    replication = np.zeros(len(variable), np.bool_)
    compressor = np.zeros(len(variable), np.int8)
    densified = np.zeros(len(variable), np.bool_)
    group = np.full(len(variable), UNGROUPED, np.int64)
    for v, left in enumerate(domain.variables):
        here = np.flatnonzero(served & (variable == v))
        if len(here):
            destination[here] = rng.choice(left.destinations, len(here))
            replication[here] = rng.choice(left.local_replication, len(here))
    here = np.flatnonzero(~served)
    if len(here):
        picked = (rng.random(len(here))[:, None] * reduced[here, None] >= by_lane[here].cumsum(axis=1)).sum(axis=1)
        sparse = np.asarray([v.sparse for v in model.variables])[variable[here]]
        for i in range(len(mix.lanes)):
            members = here[picked == i]
            _take_urns(
                mix, i, domain.adjacent_groups, candidate[members], x[members, i], members, compressor, group, rng
            )
            densified[members] = sparse[picked == i] & (mix.lanes[i].compressors is not None)
    arrays = ModelArrays.of(model)
    if domain.adjacent_groups:
        group = _close_groups(start, destination, group, compressor, densified, arrays)
    if domain.greedy_placement:
        destination = place(domain, arrays, cluster, axis, start, destination, np.zeros(count, np.uint64))
    settings = np.asarray(
        [(int(s.synchronous), -1 if s.staleness is None else s.staleness, s.push_credit) for s in domain.settings]
    )[rng.integers(len(domain.settings), size=count)]
    return StrategyBatch(
        model,
        cluster,
        settings[:, 0].astype(np.bool_),
        settings[:, 1].astype(np.int16),
        settings[:, 2].astype(np.int32),
        axis,
        shards,
        start,
        destination,
        replication,
        group.astype(np.int32),
        compressor,
        densified,
    ).canonical()


def _partitions(
    domain: Domain, mix: Mixture, term: Integers, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int16], npt.NDArray[np.bool_]]:
    """Axis and number of shards of each candidate and variable, and (with one synchronizer) which are served."""
    count = len(term)
    axis = np.empty((count, len(domain.variables)), np.int8)
    shards = np.empty((count, len(domain.variables)), np.int16)
    served = np.zeros((count, len(domain.variables)), np.bool_)
    terms, which = np.unique(term, return_inverse=True)
    x = mix.x[terms]
    chances: dict[object, npt.NDArray[np.float64]] = {}
    for v, (left, signature) in enumerate(zip(domain.variables, mix.signatures, strict=True)):
        if signature not in chances:
            logs = signature.log_by_shards(signature.reduced(x), domain.one_synchronizer)
            chance = np.exp(logs - logs.max(axis=0))
            chances[signature] = (chance / chance.sum(axis=0)).cumsum(axis=0)
        choice = (rng.random(count) >= chances[signature][:, which]).sum(axis=0)
        numbers = np.asarray([k for k, _ in signature.partitions])
        shards[:, v] = numbers[np.minimum(choice, len(numbers) - 1)]
        for k, ways in signature.partitions:
            rows = np.flatnonzero(shards[:, v] == k)
            axes = [-1 if p.axis is None else p.axis for p in left.partitions if p.shards == k]
            axis[rows, v] = np.asarray(axes)[rng.integers(ways, size=len(rows))]
        with np.errstate(divide="ignore"):
            odds = shards[:, v] * (np.log(signature.reduced(x)[which]) - np.log(float(signature.served)))
        with np.errstate(over="ignore"):
            served[:, v] = rng.random(count) < 1 / (1 + np.exp(odds))
    return axis, shards, served


def _take_urns(
    mix: Mixture,
    i: int,
    adjacent: bool,
    candidate: Integers,
    x: npt.NDArray[np.float64],
    members: Integers,
    compressor: npt.NDArray[np.int8],
    group: Integers,
    rng: np.random.Generator,
) -> None:
    """Give the shards `members` of lane `i` their compressor and group, in place; groups of all lanes differ."""
    lane = mix.lanes[i]
    names = np.asarray(lane.compressors or (0,))
    urn = (rng.random(len(members)) * x).astype(np.int64)
    if adjacent:
        # Active compressors are a random subset: a random order's first ones.
        order = rng.permuted(np.tile(names, (candidate.max(initial=0) + 1, 1)), axis=1)
        compressor[members] = order[candidate, urn // 2]
        group[members] = urn % 2
        return
    loose = urn < lane.width
    compressor[members[loose]] = names[urn[loose]]
    keys, which = np.unique(candidate[~loose] * (1 << 31) + urn[~loose], return_inverse=True)
    compressor[members[~loose]] = rng.choice(names, len(keys))[which]
    group[members[~loose]] = which * (KINDS + 1) + i


def _close_groups(
    start: Integers,
    destination: npt.NDArray[np.int16],
    begins: Integers,
    compressor: npt.NDArray[np.int8],
    densified: npt.NDArray[np.bool_],
    model: ModelArrays,
) -> Integers:
    """Group ids from coins: 1 where a group begins with the shard (the first of its kind always begins one)."""
    variables = len(model.sparse)
    group = np.full(len(begins), UNGROUPED, np.int64)
    following = 0
    for c in range((len(start) - 1) // variables):
        current: dict[int, int] = {}
        for v in model.ready_order:
            for s in range(start[c * variables + v], start[c * variables + v + 1]):
                if destination[s] != ALL_REDUCED:
                    continue
                kind = KINDS - 1 if model.sparse[v] and not densified[s] else int(compressor[s])
                if kind not in current or begins[s] == 1:
                    current[kind] = following
                    following += 1
                group[s] = current[kind]
    return group
