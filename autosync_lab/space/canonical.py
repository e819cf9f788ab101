"""Group ids in canonical order, and content hashes of encoded strategies."""

import numpy as np
import numpy.typing as npt
from numba import njit


def canonical_groups(
    start: npt.NDArray[np.int64], variables: int, group: npt.NDArray[np.integer]
) -> npt.NDArray[np.int32]:
    """Renumber the groups of each candidate from 0 in the order in which they first appear.

    Parameters
    ----------
    start : int64 [n * V + 1]
    variables : int
        V.
    group : int [S]
        Any ids of 0 or more; below 0 is no group.

    Returns
    -------
    int32 [S]
    """
    bounds = start[::variables]
    candidate = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    grouped = group >= 0
    dense = np.full(len(group), -1, np.int64)
    _, dense[grouped] = np.unique(candidate[grouped] * (1 << 33) + group[grouped], return_inverse=True)
    return _renumber(bounds, dense)


@njit(cache=True)
def _renumber(bounds: npt.NDArray[np.int64], dense: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    result = np.full(len(dense), -1, np.int32)
    number = np.full(len(dense), -1, np.int32)
    for c in range(len(bounds) - 1):
        following = 0
        for i in range(bounds[c], bounds[c + 1]):
            if dense[i] < 0:
                continue
            if number[dense[i]] < 0:
                number[dense[i]] = following
                following += 1
            result[i] = number[dense[i]]
    return result


@njit(cache=True)
def _mix(h: np.uint64, value: int) -> np.uint64:
    # One round of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) over what was hashed so far and the next value.
    z = (h ^ np.uint64(value & 0xFFFFFFFF)) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def hashes(
    synchronous: npt.NDArray[np.bool_],
    staleness: npt.NDArray[np.int16],
    push_credit: npt.NDArray[np.int32],
    axis: npt.NDArray[np.int8],
    start: npt.NDArray[np.int64],
    destination: npt.NDArray[np.int16],
    local_replication: npt.NDArray[np.bool_],
    group: npt.NDArray[np.int32],
    compressor: npt.NDArray[np.int8],
    densified: npt.NDArray[np.bool_],
) -> npt.NDArray[np.uint64]:
    """Content hash of every candidate of a batch, uint64 [n]; groups must be canonical."""
    candidates, variables = axis.shape
    result = np.empty(candidates, np.uint64)
    for c in range(candidates):
        h = _mix(np.uint64(0), int(staleness[c]) * 2 + int(synchronous[c]))
        h = _mix(h, int(push_credit[c]))
        for v in range(variables):
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            h = _mix(h, int(axis[c, v]) * 65536 + (end - begin))
            for i in range(begin, end):
                word = (int(destination[i]) + 1) * 32 + int(local_replication[i]) * 16
                h = _mix(h, word + int(compressor[i]) * 2 + int(densified[i]))
                if destination[i] < 0:
                    h = _mix(h, int(group[i]))
        result[c] = h
    return result
