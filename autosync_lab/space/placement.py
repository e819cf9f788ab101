"""The load balancer: which server owns each shard.

Source: AutoSync's load balancer. Shards go, largest first, to the node that is furthest below its target; its random
form draws a node by what it lacks. Whole gradients and rows are balanced apart: a node on a slow link had better serve
no whole gradients, which are pushed and pulled at the same time, but its part of the rows, which are first pulled.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from autosync_lab.space.arrays import ModelArrays
from autosync_lab.space.domain import Domain
from autosync_lab.space.random_stream import uniform


def allowed_nodes(domain: Domain, nodes: int) -> npt.NDArray[np.bool_]:
    """Which nodes may own shards of which variable, bool [V, N]."""
    allowed = np.zeros((len(domain.variables), nodes), np.bool_)
    for v, variable in enumerate(domain.variables):
        allowed[v, list(variable.destinations)] = True
    return allowed


def place_greedily(
    axis: npt.NDArray[np.int8],
    start: npt.NDArray[np.int64],
    destination: npt.NDArray[np.int16],
    model: ModelArrays,
    shares: npt.NDArray[np.float64],
    allowed: npt.NDArray[np.bool_],
) -> npt.NDArray[np.int16]:
    """Destinations by the greedy rule.

    Variables come by the bytes of their largest shard, largest first, ties in forward order; the shards of a variable
    in order. Each goes to the allowed node with the largest target - load, ties to the lower number, where a node's
    target is its share of all bytes of that kind (whole gradients or rows) on servers.

    Parameters
    ----------
    axis [n, V], start [n * V + 1], destination [S]
        As in `StrategyBatch`; only which shards are all-reduced (below 0) is read of `destination`.
    model : ModelArrays
    shares : float64 [2, N]
        Of whole gradients, and of rows.
    allowed : bool [V, N]

    Returns
    -------
    int16 [S]
    """
    placed = destination.copy()
    never = np.zeros(axis.shape[0], np.uint64)
    _place(axis, start, placed, model.dims, model.push_nbytes, model.sparse, shares, allowed, never, False)
    return placed


def place_at_random(
    axis: npt.NDArray[np.int8],
    start: npt.NDArray[np.int64],
    destination: npt.NDArray[np.int16],
    model: ModelArrays,
    shares: npt.NDArray[np.float64],
    allowed: npt.NDArray[np.bool_],
    states: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int16]:
    """Destinations drawn among the nodes below their target, by softmax((target - load) / mean target).

    Arguments as of `place_greedily`; `states` [n] are those of the candidates' random streams, advanced in place.
    """
    placed = destination.copy()
    _place(axis, start, placed, model.dims, model.push_nbytes, model.sparse, shares, allowed, states, True)
    return placed


@njit(cache=True)
def _place(axis, start, destination, dims, nbytes, sparse, shares, allowed, states, at_random):  # type: ignore[no-untyped-def]  # fmt: skip
    candidates, variables = axis.shape
    nodes = shares.shape[1]
    total = np.empty(2)
    lacking_of = np.empty((2, nodes))
    chance = np.empty(nodes)
    largest = np.empty(variables)
    for c in range(candidates):
        total[:] = 0.0
        for v in range(variables):
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            a = axis[c, v]
            length = dims[v, a] if a >= 0 else 1
            count = end - begin
            per_row = nbytes[v] / length
            largest[v] = 0.0
            for s in range(begin, end):
                if destination[s] >= 0:
                    total[int(sparse[v])] += per_row * (length // count + (s - begin < length % count))
                    largest[v] = -per_row * ((length + count - 1) // count)
        for kind in range(2):
            for node in range(nodes):
                lacking_of[kind, node] = shares[kind, node] * total[kind]
        for v in np.argsort(largest, kind="mergesort"):
            if largest[v] == 0.0:
                break
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            a = axis[c, v]
            length = dims[v, a] if a >= 0 else 1
            count = end - begin
            per_row = nbytes[v] / length
            lacking, mean = lacking_of[int(sparse[v])], total[int(sparse[v])] / nodes
            for s in range(begin, end):
                if destination[s] < 0:
                    continue
                best = -1
                for node in range(nodes):
                    if allowed[v, node] and (best < 0 or lacking[node] > lacking[best]):
                        best = node
                if at_random:
                    best = _softmax(lacking, allowed[v], mean, chance, states[c : c + 1], best)
                destination[s] = best
                lacking[best] -= per_row * (length // count + (s - begin < length % count))


@njit(cache=True)
def _softmax(lacking, allowed, mean, chance, state, best):  # type: ignore[no-untyped-def]
    total = 0.0
    for node in range(len(lacking)):
        chance[node] = 0.0
        if allowed[node] and lacking[node] > 0.0:
            chance[node] = np.exp((lacking[node] - lacking[best]) / mean)
            total += chance[node]
    u = uniform(state) * total
    for node in range(len(lacking)):
        u -= chance[node]
        if chance[node] > 0.0 and u < 0.0:
            return node
    return best
