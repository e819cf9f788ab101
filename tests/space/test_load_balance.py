"""`load-balance` and `load-balance-softmax`: every server carries about its share."""

from collections import defaultdict

import numpy as np
import pytest

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.cluster.bound import row_shares, server_shares
from autosync_lab.model import ModelSpec, load_model
from autosync_lab.space import StrategySpace
from autosync_lab.strategy import ParameterServer, Strategy, shard_gradient_nbytes

SHARES = {False: server_shares, True: row_shares}
"""Who serves how much, of whole gradients and of rows."""

CLUSTERS = {
    "servers": load_cluster("emulated-servers"),
    "unequal": ClusterSpec("u", (Node("a", 1, 4, 4), Node("b", 1, 5, 5), Node("c", 1, 6, 7))),
    "one fast server": ClusterSpec("f", (Node("a", 2, 1, 1), Node("b", 1, 1, 1), Node("server", 0, 10, 10))),
}
SLACK = 1e-6
"""Bytes by which sums of floating-point numbers may be off, as a share of the total."""


def _owned(strategy: Strategy, model: ModelSpec) -> list[tuple[int, str, float]]:
    """Variable, node and bytes of each shard on a server."""
    return [
        (v, shard.destination, nbytes)
        for v, (variable, entry) in enumerate(zip(model.variables, strategy.variables, strict=True))
        for shard, nbytes in zip(entry.shards, shard_gradient_nbytes(variable, entry), strict=True)
        if isinstance(shard, ParameterServer)
    ]


@pytest.mark.parametrize("rule", ["load-balance", "load-balance-softmax"])
@pytest.mark.parametrize("cluster_name", CLUSTERS)
@pytest.mark.parametrize("model_name", ["lm-small", "resnet-mini"])
def test_no_node_carries_more_than_its_share_and_a_largest_shard(rule: str, cluster_name: str, model_name: str) -> None:
    model, cluster = load_model(model_name), CLUSTERS[cluster_name]
    space = StrategySpace(model, cluster).constrain(rule)
    batch = space.sample(60, seed=4)
    assert space.check(batch).all()
    for strategy in batch:
        assert space.constraints[0].holds(strategy)
        for rows, shares in SHARES.items():
            share = dict(zip([n.name for n in cluster.nodes], shares(cluster), strict=True))
            load: dict[str, float] = defaultdict(float)
            owned = [(node, b) for v, node, b in _owned(strategy, model) if model.variables[v].sparse == rows]
            for node, nbytes in owned:
                load[node] += nbytes
            total = sum(load.values())
            for node, carried in load.items():
                assert carried <= share[node] * total + max(b for _, b in owned) + SLACK * total


def test_a_node_on_a_slow_link_serves_rows_but_no_whole_gradients() -> None:
    cluster = load_cluster("emulated-hetero-4")
    for name in ("vgg-mini", "ncf-small"):
        model = load_model(name)
        space = StrategySpace(model, cluster).constrain("load-balance")
        for variable in model.variables:
            space = space.lock(variable.name, synchronizer="ps", shards=4 if variable.size > 1000 else 1)
        for strategy in space.sample(10, seed=1):
            load: dict[bool, float] = {False: 0.0, True: 0.0}
            total = dict(load)
            for v, node, nbytes in _owned(strategy, model):
                load[model.variables[v].sparse] += nbytes * (node == "node3")
                total[model.variables[v].sparse] += nbytes
            assert load[False] <= 0.01 * total[False]
            assert load[True] == pytest.approx(0.25 * total[True], rel=0.3)


def test_nodes_of_more_bandwidth_carry_more() -> None:
    model, cluster = load_model("vgg-mini"), CLUSTERS["unequal"]
    for rule in ("load-balance", "load-balance-softmax"):
        space = StrategySpace(model, cluster).constrain([rule, "same-synchronizer-per-variable"])
        for variable in model.variables:
            space = space.lock(variable.name, synchronizer="ps")
        load: dict[str, float] = defaultdict(float)
        for strategy in space.sample(100, seed=1):
            for _, node, nbytes in _owned(strategy, model):
                load[node] += nbytes
        assert load["a"] < load["b"] < load["c"]


def test_greedy_placement_is_what_its_rule_says() -> None:
    model, cluster = load_model("ncf-small"), CLUSTERS["unequal"]
    space = StrategySpace(model, cluster).constrain("load-balance")
    names = [n.name for n in cluster.nodes]
    for strategy in space.sample(60, seed=2):
        owned = _owned(strategy, model)
        total = {rows: sum(b for v, _, b in owned if model.variables[v].sparse == rows) for rows in SHARES}
        lacking_of = {rows: np.asarray(shares(cluster)) * total[rows] for rows, shares in SHARES.items()}
        largest = [max(shard_gradient_nbytes(v, e)) for v, e in zip(model.variables, strategy.variables, strict=True)]
        for v, node, nbytes in sorted(owned, key=lambda shard: (-largest[shard[0]], shard[0])):
            place, rows = names.index(node), model.variables[v].sparse
            lacking = lacking_of[rows]
            assert lacking[place] >= lacking.max() - SLACK * total[rows], (v, node)
            lacking[place] -= nbytes


def test_a_locked_destination_stays_and_counts() -> None:
    model, cluster = load_model("vgg-mini"), CLUSTERS["unequal"]
    largest = max(model.variables, key=lambda v: v.nbytes)
    space = StrategySpace(model, cluster).lock(largest.name, destination="a", shards=1).constrain("load-balance")
    batch = space.sample(40, seed=2)
    assert space.check(batch).all()
    v = model.variables.index(largest)
    for strategy in batch:
        assert strategy.variables[v].shards == (
            ParameterServer("a", strategy.variables[v].shards[0].local_replication),  # type: ignore[union-attr]
        )
        others = [node for w, node, _ in _owned(strategy, model) if w != v]
        # The largest variable alone is more than this node's share.
        assert "a" not in others


def test_random_placement_reaches_many_placements() -> None:
    model, cluster = load_model("ncf-small"), CLUSTERS["servers"]
    space = StrategySpace(model, cluster, max_shards=1, push_credits=(0,)).constrain("load-balance-softmax")
    for variable in model.variables:
        space = space.lock(variable.name, synchronizer="ps", local_replication=False)
    greedy = space.without("load-balance-softmax").constrain("load-balance")
    assert len(set(greedy.sample(100).hashes.tolist())) == 1
    assert len(set(space.sample(100).hashes.tolist())) > 10
