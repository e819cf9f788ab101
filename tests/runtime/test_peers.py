"""Peers run the same model on the same cluster."""

import pytest

import autosync_lab as asl
from autosync_lab.runtime import peers
from tests.runtime.clusters import fast_cluster

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("peer", peers.PEERS)
def test_a_peer_is_measured(peer: str) -> None:
    model = asl.load_model("ncf-small")
    trial = peers.measure_peer(peer, model, fast_cluster(2, 1, 1), steps=3, warmup=1)
    assert trial.status == "ok", f"{trial.error}\n{trial.stderr_tail}"
    assert trial.label == peer
    assert trial.strategy is None
    assert len(trial.step_times_s) == 3
    assert trial.losses[-1] > 0
    assert trial.bytes_sent is not None
    assert trial.bytes_sent["node0"] > 10_000


def test_an_unknown_peer() -> None:
    with pytest.raises(asl.InvalidInput, match="did you mean 'horovod-autotune'"):
        peers.measure_peer("horovod-autotuned", asl.load_model("vgg-mini"), fast_cluster())
