"""Random strategies that look like what people try: every candidate has a style, and its decisions follow it.

Were every decision an independent coin, all candidates would look alike: half of the variables on servers, half of them
cut. So a style is drawn first, for each candidate:

- p, the chance that a variable (without `one_synchronizer`: a shard) is on servers, uniform in [0, 1);
- q, the chance that a variable is partitioned, uniform in [0, 1);
- k, the most shards of a variable, log-uniform in 2 to the domain's most;
- r, the chance that a shard is compressed, uniform in [0, 1).

Then, each given the style and independent of the others:

- the graph-wide settings, all left ones equally likely;
- for each variable: with chance q one of the partitions of 2 to k shards that are left, all equally likely (if none is
  left: whole; if it must be cut, one of those with the fewest shards), else whole;
- for each shard: the synchronizer by p; for a server the destination and whether it is locally replicated, all equally
  likely (the destination by a placement rule, if the domain has one); for all-reduce whether a sparse shard travels
  densified, equally likely, and with chance r one of the lossy compressors, equally likely;
- for each kind of all-reduced shards their groups, as `autosync_lab.space.grouping.draw_groups` says.

Where a domain leaves one side of a choice only, that is taken.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.arrays import ClusterArrays, ModelArrays
from autosync_lab.space.batch import StrategyBatch, starts
from autosync_lab.space.domain import Domain, DomainArrays
from autosync_lab.space.grouping import KINDS, draw_groups, most_shards, renumber_groups
from autosync_lab.space.placement import allowed_nodes, place_at_random, place_greedily
from autosync_lab.space.random_stream import below, log_uniform, streams, uniform


def draw(model: ModelSpec, cluster: ClusterSpec, domain: Domain, count: int, seed: int) -> StrategyBatch:
    """`count` strategies of a domain, as this module says; the first ones do not depend on `count`."""
    arrays, tables = ModelArrays.of(model), DomainArrays.of(domain)
    states = streams(seed, count)
    variables = len(model.variables)
    axis = np.empty((count, variables), np.int8)
    shards = np.empty((count, variables), np.int16)
    settings = np.empty(count, np.int64)
    style = np.empty((count, 2))
    most = int(tables.partition_shards.max())
    _draw_partitions(
        states,
        tables.partition_axis,
        tables.partition_shards,
        tables.partition_start,
        most,
        len(tables.settings),
        axis,
        shards,
        settings,
        style,
    )
    start = starts(shards)
    total = int(start[-1])
    destination = np.empty(total, np.int16)
    replication = np.zeros(total, np.bool_)
    group = np.full(total, -1, np.int32)
    compressor = np.zeros(total, np.int8)
    densified = np.zeros(total, np.bool_)
    _draw_synchronizers(
        states,
        start,
        style,
        domain.one_synchronizer,
        tables.served,
        tables.reduced,
        tables.destinations,
        tables.destination_start,
        tables.replication,
        tables.replication_start,
        tables.compressors,
        tables.compressor_start,
        tables.densified,
        tables.densified_start,
        arrays.sparse,
        destination,
        replication,
        compressor,
        densified,
    )
    destination = place(domain, arrays, cluster, axis, start, destination, states)
    everything = np.ones(count, np.bool_)
    draw_groups(
        start,
        destination,
        group,
        compressor,
        densified,
        arrays.sparse,
        arrays.ready_order,
        arrays.nbytes,
        domain.adjacent_groups,
        everything,
        states,
    )
    renumber_groups(start, variables, group, KINDS * (most_shards(start, variables) + 1))
    synchronous, staleness, credit = tables.settings[settings].T
    return StrategyBatch(
        model,
        cluster,
        synchronous.astype(np.bool_),
        staleness.astype(np.int16),
        credit.astype(np.int32),
        axis,
        shards,
        start,
        destination,
        replication,
        group,
        compressor,
        densified,
    )


def place(
    domain: Domain,
    model: ModelArrays,
    cluster: ClusterSpec,
    axis: npt.NDArray[np.int8],
    start: npt.NDArray[np.int64],
    destination: npt.NDArray[np.int16],
    states: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int16]:
    """Destinations by the domain's placement rule; as they are, if it has none."""
    if not (domain.greedy_placement or domain.balanced_placement):
        return destination
    shares = ClusterArrays.of(cluster).shares
    allowed = allowed_nodes(domain, len(cluster.nodes))
    if domain.greedy_placement:
        return place_greedily(axis, start, destination, model, shares, allowed)
    return place_at_random(axis, start, destination, model, shares, allowed, states)


@njit(cache=True)
def _draw_partitions(states, axes, counts, first, most, settings_left, axis, shards, settings, style):  # type: ignore[no-untyped-def]  # fmt: skip
    for c in range(len(states)):
        state = states[c : c + 1]
        style[c, 0] = uniform(state)
        cut = uniform(state)
        largest = log_uniform(state, 2, most) if most > 2 else 2
        style[c, 1] = uniform(state)
        settings[c] = below(state, settings_left)
        for v in range(len(first) - 1):
            begin, end = first[v], first[v + 1]
            whole = counts[begin] == 1
            cuts = begin + 1 if whole else begin
            # Partitions come by number of shards.
            low, high = cuts, end
            while low < high:
                middle = (low + high) // 2
                if counts[middle] <= largest:
                    low = middle + 1
                else:
                    high = middle
            last = low
            if last == cuts and not whole:
                while last < end and counts[last] == counts[cuts]:
                    last += 1
            chosen = begin
            if last > cuts and (uniform(state) < cut or not whole):
                chosen = cuts + below(state, last - cuts)
            axis[c, v] = axes[chosen]
            shards[c, v] = counts[chosen]


@njit(cache=True)
def _draw_synchronizers(  # type: ignore[no-untyped-def]
    states, start, style, one_synchronizer, served, reduced, destinations, destination_start, replications,
    replication_start, compressors, compressor_start, dense, dense_start, sparse,
    destination, replication, compressor, densified,
):  # fmt: skip
    variables = len(served)
    for c in range(len(states)):
        state = states[c : c + 1]
        for v in range(variables):
            on_server = False
            for s in range(start[c * variables + v], start[c * variables + v + 1]):
                if s == start[c * variables + v] or not one_synchronizer:
                    on_server = served[v] and (not reduced[v] or uniform(state) < style[c, 0])
                if on_server:
                    left = destination_start[v + 1] - destination_start[v]
                    destination[s] = destinations[destination_start[v] + (below(state, left) if left > 1 else 0)]
                    left = replication_start[v + 1] - replication_start[v]
                    replication[s] = replications[replication_start[v] + (below(state, left) if left > 1 else 0)] != 0
                    continue
                destination[s] = -1
                left = dense_start[v + 1] - dense_start[v]
                densified[s] = dense[dense_start[v] + (below(state, left) if left > 1 else 0)] != 0
                if sparse[v] and not densified[s]:
                    continue
                begin = compressor_start[v]
                left = compressor_start[v + 1] - begin
                if left == 1:
                    compressor[s] = compressors[begin]
                elif compressors[begin] != 0:
                    compressor[s] = compressors[begin + below(state, left)]
                elif uniform(state) < style[c, 1]:
                    compressor[s] = compressors[begin + 1 + below(state, left - 1)]
