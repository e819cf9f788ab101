"""Every builder, on every model and preset, keeps the contract of `StrategyBuilder`."""

import pytest

import autosync_lab as asl
from autosync_lab.cluster import ClusterSpec, Node, bandwidth_bound, cluster_names, load_cluster
from autosync_lab.model import load_model, model_names
from autosync_lab.strategy import (
    AllReduce,
    ParameterServer,
    Strategy,
    build_strategy,
    builder_card,
    builder_names,
    link_time_s,
    shard_gradient_nbytes,
    validate_strategy,
)


@pytest.mark.parametrize("builder", builder_names())
@pytest.mark.parametrize("cluster_name", cluster_names())
class TestContract:
    @pytest.mark.parametrize("model_name", model_names())
    def test_it_makes_a_valid_strategy(self, builder: str, cluster_name: str, model_name: str) -> None:
        model, cluster = load_model(model_name), load_cluster(cluster_name)
        strategy = build_strategy(builder, model, cluster)
        validate_strategy(strategy, model, cluster)
        assert strategy == build_strategy(builder, model, cluster)
        assert strategy.synchronous
        assert strategy.lossless == builder_card(builder).lossless
        assert Strategy.loads(strategy.dumps()) == strategy
        if strategy.lossless:
            assert link_time_s(model, cluster, strategy) >= bandwidth_bound(model, cluster) * (1 - 1e-9)

    def test_its_card_says_what_it_is(self, builder: str, cluster_name: str) -> None:
        card = builder_card(builder)
        assert card.name == builder
        assert card.sentence.endswith(".")
        assert card.source


def destinations(strategy: Strategy) -> set[str]:
    return {s.destination for v in strategy.variables for s in v.shards if isinstance(s, ParameterServer)}


def test_where_servers_are() -> None:
    model = load_model("vgg-mini")
    servers = load_cluster("emulated-servers")
    assert destinations(build_strategy("ps", model, servers)) == {"server0"}
    assert destinations(build_strategy("ps-load-balanced", model, servers)) == {"server0", "server1"}
    assert destinations(build_strategy("byteps", model, servers)) <= {n.name for n in servers.nodes}
    assert destinations(build_strategy("ps", model, load_cluster("emulated-4"))) == {"node0"}


def test_parallax_splits_by_sparsity() -> None:
    model = load_model("ncf-small")
    strategy = build_strategy("parallax", model, load_cluster("emulated-4"))
    for variable, entry in zip(model.variables, strategy.variables, strict=True):
        kinds = {type(s) for s in entry.shards}
        assert kinds == {ParameterServer if variable.sparse else AllReduce}


@pytest.mark.parametrize("model_name", ["ncf-small", "lm-small", "ncf"])
@pytest.mark.parametrize("cluster_name", ["emulated-4", "emulated-servers"])
def test_parallax_spreads_rows_evenly_whatever_is_all_reduced(model_name: str, cluster_name: str) -> None:
    model, cluster = load_model(model_name), load_cluster(cluster_name)
    loads: dict[str, float] = {}
    for variable, entry in zip(model.variables, build_strategy("parallax", model, cluster).variables, strict=True):
        for nbytes, shard in zip(shard_gradient_nbytes(variable, entry), entry.shards, strict=True):
            if isinstance(shard, ParameterServer):
                loads[shard.destination] = loads.get(shard.destination, 0.0) + nbytes
    dedicated = [n.name for n in cluster.nodes if not n.replicas]
    assert set(loads) == set(dedicated or [n.name for n in cluster.nodes])
    assert max(loads.values()) <= 1.01 * min(loads.values())


def test_byteps_uses_no_link_where_one_node_has_all_replicas() -> None:
    model = load_model("vgg-mini")
    cluster = ClusterSpec("one", (Node("a", 4, 1.0, 1.0), Node("s", 0, 1.0, 1.0)))
    assert destinations(build_strategy("byteps", model, cluster)) == {"a"}


def test_byteps_comes_near_the_bound_and_the_paper_s_proportion() -> None:
    model = load_model("vgg-mini")
    for name in ("emulated-4", "emulated-servers", "emulated-hetero-4"):
        cluster = load_cluster(name)
        time = link_time_s(model, cluster, build_strategy("byteps", model, cluster))
        assert time <= 1.15 * bandwidth_bound(model, cluster), name


def test_poseidon_chooses_by_what_links_take() -> None:
    quick_servers = ClusterSpec(
        "quick servers",
        (*(Node(f"n{i}", 1, 1.0, 1.0) for i in range(4)), Node("s0", 0, 20.0, 20.0), Node("s1", 0, 20.0, 20.0)),
    )
    slow_servers = ClusterSpec("slow", (*(Node(f"n{i}", 1, 1.0, 1.0) for i in range(4)), Node("s", 0, 0.1, 0.1)))
    dense = load_model("vgg-mini")
    for cluster, same in ((quick_servers, "partitioned-ps"), (slow_servers, "horovod")):
        built = build_strategy("poseidon", dense, cluster)
        expected = build_strategy(same, dense, cluster)
        assert built.variables == expected.variables
    mixed = load_model("ncf-small")
    cluster = load_cluster("emulated-4")
    kinds = {
        (v.sparse, type(e.shards[0]))
        for v, e in zip(mixed.variables, build_strategy("poseidon", mixed, cluster).variables, strict=True)
    }
    assert kinds == {(True, ParameterServer), (False, AllReduce)}


def test_an_unknown_builder_suggests_one() -> None:
    with pytest.raises(asl.InvalidInput, match="did you mean 'horovod'"):
        build_strategy("horovodd", load_model("vgg-mini"), load_cluster("local-2"))
