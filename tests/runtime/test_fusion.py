"""Horovod fuses by itself where a strategy names no groups, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

import autosync_lab as asl
from autosync_lab.strategy import Strategy
from tests.runtime.clusters import fast_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.emulated]


def test_the_pool_changes_how_horovod_fuses_and_trains_the_same() -> None:
    cluster, model = fast_cluster(2), asl.load_model("vgg-mini")
    horovod = asl.build_strategy("horovod", model, cluster)
    grouped = asl.build_strategy("all-reduce", model, cluster)
    first = horovod.variables[0]
    mixed: Strategy = replace(
        horovod, variables=(replace(first, shards=(asl.AllReduce(group=0),)), *horovod.variables[1:])
    )
    fusing, trained = [], []
    with asl.open_cluster(cluster) as runner:
        for strategy in (grouped, horovod, mixed, horovod):
            trial, parameters = runner.train(model, strategy, steps=2)
            assert trial.status == "ok"
            fusing.append(runner._pool.fusing)
            trained.append(parameters[0])
    assert fusing == [False, True, False, True]
    for parameters in trained[1:]:
        for name, value in trained[0].items():
            np.testing.assert_allclose(parameters[name], value, rtol=1e-4, atol=1e-6)
