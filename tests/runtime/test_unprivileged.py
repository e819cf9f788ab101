"""A user who is not root gets the same clusters, in a user namespace."""

import os
from collections.abc import Iterator

import pytest

import autosync_lab as asl
from autosync_lab.runtime import namespaces

pytestmark = [pytest.mark.cluster, pytest.mark.emulated]


@pytest.fixture
def _user_namespace(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is done as for an ordinary user, whoever runs the tests."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    namespaces.unshare_command.cache_clear()
    yield
    namespaces.unshare_command.cache_clear()


@pytest.mark.usefixtures("_user_namespace")
@pytest.mark.parametrize("name", ["local-2", "emulated-2x2"])
def test_clusters_in_a_user_namespace(name: str) -> None:
    prefix = namespaces.unshare_command()
    assert prefix is not None
    assert "--user" in prefix
    model, cluster = asl.load_model("vgg-mini"), asl.load_cluster(name)
    with asl.open_cluster(cluster) as runner:
        trial = runner.measure(model, asl.build_strategy("partitioned-ps", model, cluster), steps=1, warmup=0)
    assert trial.status == "ok", trial.error
    assert (trial.bytes_sent is not None) == (name != "local-2")
