"""Bytes counted on each node's interface are those that the strategy should send."""

import time

import numpy as np
import pytest

import autosync_lab as asl
from autosync_lab.runtime.runner import Runner
from autosync_lab.strategy import builder_names, node_traffic
from tests.runtime.clusters import fast_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.emulated, pytest.mark.timeout(600)]

TOLERANCE = 0.10
CONTROL_BYTES = 16_000
"""Requests, tokens and barriers of one step: not what the strategy sends."""

IDLE_S = 1.0


def idle_bytes_per_s(runner: Runner) -> float:
    """What the busiest node sends while nothing runs: Horovod's workers agree every millisecond on what to do next."""
    before = runner.launcher.bytes_by_node()
    time.sleep(IDLE_S)
    after = runner.launcher.bytes_by_node()
    assert before is not None
    assert after is not None
    return max(after[n][0] - before[n][0] for n in after) / IDLE_S


@pytest.mark.parametrize("cluster", [fast_cluster(4, 1, 2), fast_cluster(2, 2, 0)], ids=["4+2", "2x2"])
def test_every_builder_sends_what_it_should(cluster: asl.ClusterSpec) -> None:
    wrong = {}
    with asl.open_cluster(cluster) as runner:
        idle = idle_bytes_per_s(runner)
        for name in ("vgg-mini", "lm-small"):
            model = asl.load_model(name)
            for builder in builder_names():
                strategy = asl.build_strategy(builder, model, cluster)
                trial = runner.measure(model, strategy, steps=4, warmup=1)
                assert trial.status == "ok", trial.error
                assert trial.bytes_sent is not None
                assert trial.bytes_received is not None
                expected = node_traffic(model, cluster, strategy)
                # Besides the steps themselves, a barrier runs before each.
                control = CONTROL_BYTES + 1.5 * idle * sum(max(row) for row in trial.step_times_s) / trial.steps
                for way, counted, planned in zip(
                    ("sent", "received"), (trial.bytes_sent, trial.bytes_received), expected, strict=True
                ):
                    for node, nbytes in zip(cluster.nodes, planned, strict=True):
                        if not np.isclose(counted[node.name], nbytes, rtol=TOLERANCE, atol=control):
                            wrong[name, builder, node.name, way] = (round(counted[node.name]), round(nbytes))
    assert wrong == {}
