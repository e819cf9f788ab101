"""Random streams for compiled loops: one small state per candidate, equal on every machine.

A stream is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Its state
is an array of one number, so that compiled code can advance it in place.
"""

import numpy as np
import numpy.typing as npt
from numba import njit


def streams(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """States of `count` independent streams, uint64 [count]; the first ones do not depend on `count`."""
    key = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        z = key + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)


@njit(cache=True, inline="always")
def uniform(state):  # type: ignore[no-untyped-def]
    """The next number of a stream, uniform in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, inline="always")
def below(state, count):  # type: ignore[no-untyped-def]
    """The next number of a stream, a whole one, uniform in 0 to `count` - 1."""
    return int(uniform(state) * count)


@njit(cache=True, inline="always")
def log_uniform(state, low, high):  # type: ignore[no-untyped-def]
    """A whole number k of `low` to `high`, with probability log((k + 1) / k) / log((high + 1) / low)."""
    k = int(low * ((high + 1.0) / low) ** uniform(state))
    return min(max(k, low), high)
