"""The staleness bound of asynchronous strategies (stale synchronous parallel, Ho et al., NeurIPS 2013)."""

import tensorflow as tf

from autosync_lab.runtime.engine.tokens import Tokens
from autosync_lab.runtime.place import Place

MAX_STEPS_AHEAD = 10_000
"""Room of a token queue: far more steps than a replica could ever be ahead within a bound."""


def staleness_gate(place: Place, staleness: int, pushes: list[tf.Operation]) -> tuple[tf.Operation, list[tf.Operation]]:
    """Let a replica end step t only when every replica has pushed step t - `staleness`.

    For each ordered pair of replicas a queue on process 0 carries one token a step; it starts with `staleness` tokens.

    Returns
    -------
    gate : Operation
        Ends this replica's step.
    initializers : list of Operation
        To be run once by this replica, before the first step.
    """
    device = place.device(0)
    ranks = range(place.replicas)
    with tf.device(device), tf.name_scope("staleness"):
        out = [Tokens(f"staleness/{place.rank}-{r}", device, MAX_STEPS_AHEAD) for r in ranks]
        into = [Tokens(f"staleness/{r}-{place.rank}", device, MAX_STEPS_AHEAD) for r in ranks]
        told = [tokens.release(1, pushes) for tokens in out]
        gate = tf.group(*[tokens.take(told) for tokens in into])
        initializers = [tokens.release(staleness, []) for tokens in out] if staleness else []
    return gate, initializers
