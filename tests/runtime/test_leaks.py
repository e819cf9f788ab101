"""Many trials in a row leave no memory, descriptors, threads or processes behind."""

import threading

import psutil
import pytest

import autosync_lab as asl
from tests.runtime.clusters import fast_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SETTLE = 6
ROUNDS = 12
BUILDERS = ("ps", "partitioned-ps", "all-reduce", "parallax", "byteps")


def usage(pids: list[int]) -> tuple[int, int, int]:
    """Private bytes, open descriptors and threads of all workers."""
    processes = [psutil.Process(pid) for pid in pids]
    return (
        sum(p.memory_full_info().uss for p in processes),
        sum(p.num_fds() for p in processes),
        sum(p.num_threads() for p in processes),
    )


def test_many_trials_leak_nothing() -> None:
    model = asl.load_model("ncf-small")
    cluster = fast_cluster(2, 1, 1)
    with asl.open_cluster(cluster) as runner:
        pids = list(runner.worker_pids.values())
        strategies = [asl.build_strategy(b, model, cluster) for b in BUILDERS]

        def round_of_trials() -> None:
            for strategy in strategies:
                trial = runner.measure(model, strategy, steps=1, warmup=0)
                assert trial.status == "ok", trial.error

        for _ in range(SETTLE):
            round_of_trials()
        memory, descriptors, threads = usage(pids)
        own = psutil.Process().num_fds(), threading.active_count()
        for _ in range(ROUNDS):
            round_of_trials()
        memory_after, descriptors_after, threads_after = usage(pids)
        assert list(runner.worker_pids.values()) == pids
        assert descriptors_after <= descriptors + 3
        assert threads_after <= threads + 3
        # One lost copy of the model's variables per trial would be 60 times 15 MB.
        assert memory_after - memory < 5 * model.nbytes
        assert psutil.Process().num_fds() <= own[0] + 2
        assert threading.active_count() <= own[1]
