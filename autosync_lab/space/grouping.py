"""The group assigner: which all-reduced shards travel as one collective.

A kind is what can travel together: dense gradients of one compressor, or rows. Kinds are numbered by compressor; rows
are the last one.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from autosync_lab.space.random_stream import below, log_uniform
from autosync_lab.strategy.spec import COMPRESSORS

KINDS = len(COMPRESSORS) + 1


@njit(cache=True)
def kind_of(sparse, densified, compressor):  # type: ignore[no-untyped-def]
    """Number of a shard's kind."""
    return KINDS - 1 if sparse and not densified else compressor


@njit(cache=True)
def contiguous(start, destination, group, compressor, densified, sparse, ready_order):  # type: ignore[no-untyped-def]
    """Which candidates' groups are contiguous within their kind, in the order in which gradients are ready; bool [n].

    Arguments as in `StrategyBatch` and `ModelArrays`; shards of a variable are ready in their order.
    """
    variables = len(sparse)
    candidates = (len(start) - 1) // variables
    right = np.ones(candidates, np.bool_)
    closed = np.empty(0, np.bool_)
    last = np.empty(KINDS, np.int64)
    for c in range(candidates):
        size = start[(c + 1) * variables] - start[c * variables]
        if len(closed) < size:
            closed = np.zeros(size, np.bool_)
        closed[:] = False
        last[:] = -1
        for v in ready_order:
            for s in range(start[c * variables + v], start[c * variables + v + 1]):
                if destination[s] >= 0 or group[s] < 0:
                    continue
                kind = kind_of(sparse[v], densified[s], compressor[s])
                if group[s] == last[kind]:
                    continue
                if last[kind] >= 0:
                    closed[last[kind]] = True
                if closed[group[s]]:
                    right[c] = False
                last[kind] = group[s]
    return right


@njit(cache=True)
def draw_groups(  # type: ignore[no-untyped-def]
    start, destination, group, compressor, densified, sparse, ready_order, cut_nbytes, adjacent, redraw, states,
):  # fmt: skip
    """Draw the groups of each candidate that is to be redrawn, in place; ids are not canonical.

    The number of groups of each kind is log-uniform in 1 to its number of shards. Adjacent: the bytes are cut into that
    many equal parts in the order in which gradients are ready, and parts without a shard left out. Else: each shard
    goes to one of the groups or to none, all equally likely.

    Parameters
    ----------
    start, destination, group, compressor, densified
        As in `StrategyBatch`; `group` is written.
    sparse, ready_order [V]
        As in `ModelArrays`.
    cut_nbytes : float64 [V]
        Bytes of each variable's gradient.
    adjacent : bool
    redraw : bool [n]
    states : uint64 [n]
        Of the candidates' random streams; advanced in place.
    """
    variables = len(sparse)
    shards = np.empty(KINDS, np.int64)
    nbytes = np.empty(KINDS)
    number = np.empty(KINDS, np.int64)
    so_far = np.empty(KINDS)
    for c in range(len(redraw)):
        if not redraw[c]:
            continue
        state = states[c : c + 1]
        shards[:] = 0
        nbytes[:] = 0.0
        so_far[:] = 0.0
        for v in range(variables):
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            for s in range(begin, end):
                if destination[s] < 0:
                    kind = kind_of(sparse[v], densified[s], compressor[s])
                    shards[kind] += 1
                    nbytes[kind] += cut_nbytes[v] / (end - begin)
        for kind in range(KINDS):
            if shards[kind]:
                number[kind] = log_uniform(state, 1, shards[kind])
        for v in ready_order:
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            for s in range(begin, end):
                if destination[s] >= 0:
                    group[s] = -1
                    continue
                kind = kind_of(sparse[v], densified[s], compressor[s])
                if adjacent:
                    # The middle of the shard says which part it is in.
                    size = cut_nbytes[v] / (end - begin)
                    part = int((so_far[kind] + size / 2) / nbytes[kind] * number[kind])
                    group[s] = kind + KINDS * min(part, number[kind] - 1)
                    so_far[kind] += size
                else:
                    part = below(state, number[kind] + 1)
                    group[s] = kind + KINDS * (part - 1) if part else -1


@njit(cache=True)
def mend_groups(start, destination, group, compressor, densified, sparse, ready_order):  # type: ignore[no-untyped-def]
    """Make groups contiguous, in place: where neighbours of a kind differ in their group, a new one begins."""
    variables = len(sparse)
    last = np.empty(KINDS, np.int64)
    mended = np.empty(KINDS, np.int64)
    for c in range((len(start) - 1) // variables):
        last[:] = -2
        following = 0
        for v in ready_order:
            for s in range(start[c * variables + v], start[c * variables + v + 1]):
                if destination[s] >= 0:
                    group[s] = -1
                    continue
                kind = kind_of(sparse[v], densified[s], compressor[s])
                if group[s] != last[kind]:
                    last[kind] = group[s]
                    mended[kind] = following
                    following += 1
                group[s] = mended[kind]


@njit(cache=True)
def renumber_groups(start, variables, group, most):  # type: ignore[no-untyped-def]
    """Number groups from 0 in the order of their first shards, in place; ids are below `most`."""
    number = np.full(most, -1, np.int64)
    used = np.empty(most, np.int64)
    for c in range((len(start) - 1) // variables):
        following = 0
        for s in range(start[c * variables], start[(c + 1) * variables]):
            old = group[s]
            if old >= 0:
                if number[old] < 0:
                    number[old] = following
                    used[following] = old
                    following += 1
                group[s] = number[old]
        for k in range(following):
            number[used[k]] = -1


def most_shards(start: npt.NDArray[np.int64], variables: int) -> int:
    """Shards of the candidate that has most."""
    return int(np.diff(start[::variables]).max(initial=0))
