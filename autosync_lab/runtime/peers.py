"""Peers: other systems that synchronize the same model on the same cluster, to race against.

`horovod-autotune` is Horovod with its own autotuner on, measured after the tuner has settled.
`multi-worker-mirrored` is `tf.distribute.MultiWorkerMirroredStrategy` with its ring collectives.
"""

from collections.abc import Callable
from dataclasses import replace

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Progress, open_cluster
from autosync_lab.runtime.trial import Trial
from autosync_lab.strategy.builders import build_strategy

PEERS = ("horovod-autotune", "multi-worker-mirrored")

AUTOTUNE_SETTINGS = 8
"""Settings of fusion buffer and cycle time that Horovod's Bayesian search tries. Its default of 20, each over 50 steps,
and again for every categorical option, would take half an hour on a slow network."""

STEPS_PER_SETTING = 5
"""Horovod scores a setting by the median of five samples, here of one step each."""

AUTOTUNE_STEPS = STEPS_PER_SETTING * (1 + AUTOTUNE_SETTINGS + 2)
"""Untimed steps after which the tuner has settled: a warm-up sample, the settings, and some to spare."""

AUTOTUNE_ENVIRONMENT = {
    "HOROVOD_AUTOTUNE": "1",
    "HOROVOD_AUTOTUNE_WARMUP_SAMPLES": "1",
    "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE": "1",
    "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES": str(AUTOTUNE_SETTINGS),
    # Giving these their defaults keeps the tuner from trying the alternatives, which mean nothing to Gloo.
    "HOROVOD_HIERARCHICAL_ALLGATHER": "0",
    "HOROVOD_CACHE_CAPACITY": "1024",
}


def measure_peer(
    name: str,
    model: ModelSpec,
    cluster: ClusterSpec,
    *,
    steps: int = 10,
    warmup: int = 2,
    learning_rate: float = 0.01,
    timeout_s: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Trial:
    """Measure one peer on a cluster of its own (started and ended here).

    Parameters
    ----------
    name : str
        One of `PEERS`.
    model, cluster, steps, warmup, learning_rate, timeout_s, on_progress
        As for `Runner.measure`; a peer always runs SGD.

    Returns
    -------
    Trial
        Its strategy is None: the peer decides by itself.
    """
    if name not in PEERS:
        raise InvalidInput("unknown peer", received=name, valid=PEERS)
    environment: dict[str, str] = {}
    role = "worker"
    if name == "horovod-autotune":
        warmup += AUTOTUNE_STEPS
        environment = AUTOTUNE_ENVIRONMENT
    else:
        role = "mirrored"
    # What runs is what the `horovod` builder says: every gradient summed over all replicas, as its owner likes.
    strategy = build_strategy("horovod", model, cluster)
    with open_cluster(cluster, environment=environment, role=role) as runner:
        trial = runner.measure(
            model,
            strategy,
            steps=steps,
            warmup=warmup,
            learning_rate=learning_rate,
            label=name,
            timeout_s=timeout_s,
            on_progress=on_progress,
        )
    return replace(trial, strategy=None)
