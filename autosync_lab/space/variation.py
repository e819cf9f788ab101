"""How strategies beget strategies: crossover and mutation of whole batches."""

import numpy as np
import numpy.typing as npt

from autosync_lab.space.arrays import ModelArrays
from autosync_lab.space.batch import StrategyBatch, starts
from autosync_lab.space.domain import Domain
from autosync_lab.space.grouping import KINDS, draw_groups, mend_groups, most_shards, renumber_groups
from autosync_lab.space.random_stream import streams
from autosync_lab.space.sampler import place


def mixed(
    first: StrategyBatch,
    second: StrategyBatch,
    from_second: npt.NDArray[np.bool_],
    settings_from_second: npt.NDArray[np.bool_],
    regrouped: npt.NDArray[np.bool_],
    domain: Domain,
    seed: int,
) -> StrategyBatch:
    """Candidate by candidate, some variables of one parent and the others of the other one.

    Groups of the two parents stay apart where any groups are allowed, and are cut where they are no longer contiguous
    where they must be. Destinations follow the domain's placement rule.

    Parameters
    ----------
    first, second : StrategyBatch
        Of n candidates each, in the domain.
    from_second : bool [n, V]
        Which variables come from the second parent.
    settings_from_second : bool [n]
        Where graph-wide settings come from it.
    regrouped : bool [n]
        Where all groups are drawn anew.
    domain : Domain
    seed : int
    """
    model, cluster = first.model, first.cluster
    variables = len(model.variables)
    arrays = ModelArrays.of(model)
    shards = np.where(from_second, second.shards, first.shards)
    start = starts(shards)
    lengths = shards.ravel()
    begin = np.where(from_second.ravel(), second.start[:-1], first.start[:-1])
    at = np.repeat(begin - start[:-1], lengths) + np.arange(start[-1])
    other = np.repeat(from_second.ravel(), lengths)

    def joined(name: str) -> npt.NDArray[np.generic]:
        a, b = getattr(first, name), getattr(second, name)
        result = np.empty(len(at), a.dtype)
        result[~other], result[other] = a[at[~other]], b[at[other]]
        return result

    destination = joined("destination").astype(np.int16)
    group = joined("group").astype(np.int32)
    # Even ids from one parent, odd ones from the other.
    group = np.where(group >= 0, 2 * group + other, group).astype(np.int32)
    compressor, densified = joined("compressor").astype(np.int8), joined("densified").astype(np.bool_)
    states = streams(seed, len(first))
    axis = np.where(from_second, second.axis, first.axis)
    destination = place(domain, arrays, cluster, axis, start, destination, states)
    if domain.adjacent_groups:
        mend_groups(start, destination, group, compressor, densified, arrays.sparse, arrays.ready_order)
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
        regrouped,
        states,
    )
    most = most_shards(first.start, variables) + most_shards(second.start, variables) + 1
    renumber_groups(start, variables, group, max(2, KINDS) * most)
    return StrategyBatch(
        model,
        cluster,
        np.where(settings_from_second, second.synchronous, first.synchronous),
        np.where(settings_from_second, second.staleness, first.staleness),
        np.where(settings_from_second, second.push_credit, first.push_credit),
        axis,
        shards,
        start,
        destination,
        joined("local_replication").astype(np.bool_),
        group,
        compressor,
        densified,
    )
