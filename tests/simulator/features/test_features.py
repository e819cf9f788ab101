"""Features of single strategies against closed forms, and what must not change them."""

from dataclasses import replace

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.simulator import CostModel
from autosync_lab.simulator.features import (
    FEATURE_SETS,
    PREDEFINED_FEATURES,
    RAW_FEATURES,
    Encoded,
    shard_feature_names,
    strategy_feature_names,
)
from autosync_lab.simulator.features.loads import Loads
from autosync_lab.simulator.features.predefined import COSTS, pair_scale_s, predefined_features, server_costs
from autosync_lab.space import StrategyBatch, StrategySpace
from autosync_lab.strategy import ParameterServer, Strategy, VariableStrategy
from tests.simulator.cases import FREE, B, ar, cluster, model, ps, strategy

WORKERS = cluster(2, servers=1)
MODEL = model(40.0, 20.0, 4.0, compute_s=0.1, ready=(1.0, 0.6, 0.3))


def encoded(how: Strategy, features: str = "both", of: ModelSpec = MODEL) -> Encoded:
    batch = StrategyBatch.encode([how], of, WORKERS)
    return Encoded(batch, CostModel(of, WORKERS, FREE), features)  # type: ignore[arg-type]


def raw(how: Strategy, name: str) -> list[float]:
    """One raw feature of every shard."""
    return [float(x) for x in encoded(how, "raw").of_shards[:, RAW_FEATURES.index(name)]]


def costs(how: Strategy) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of servers and of collectives, by kind of cost."""
    e = encoded(how)
    found = server_costs(e.batch, e.cost_model, Loads.of(e.batch, e.cost_model))
    servers, collectives = ({c: list(f[:, k]) for k, c in enumerate(COSTS)} for f in found)
    return servers, collectives


def test_raw_features_say_where_shards_go() -> None:
    how = strategy(WORKERS, ps("s0"), ar(0, "fp16"), ar())
    assert raw(how, "on a server") == [1, 0, 0]
    assert raw(how, "all-reduced in a group") == [0, 1, 0]
    assert raw(how, "all-reduced in no group") == [0, 0, 1]
    assert raw(how, "compressed: fp16") == [0, 1, 0]
    assert raw(how, "share of bytes") == pytest.approx([0.625, 0.3125, 0.0625])
    assert raw(how, "owner has replicas") == [0, 0, 0]
    assert raw(how, "owner's load") == pytest.approx([0.625, 0, 0])
    assert raw(how, "share of bytes in the group") == pytest.approx([0, 0.3125, 0])
    # The last layer's gradient is ready first.
    assert raw(how, "position of the variable") == [1.0, 0.5, 0.0]


def test_shards_share_their_variable() -> None:
    how = strategy(WORKERS, (ps("s0"), ps("w0"), ps("w0"), ps("w1")), ar(0), ar(0))
    assert raw(how, "shards of the variable, log") == pytest.approx([0.4] * 4 + [0, 0])
    assert raw(how, "owner's load")[:4] == pytest.approx([0.15625, 0.3125, 0.3125, 0.15625])
    assert raw(how, "share of bytes in the group")[4:] == pytest.approx([0.375, 0.375])
    assert raw(how, "last of the group, position")[4:] == pytest.approx([0.5, 0.5])
    # Two tensors in the group, of three variables.
    assert raw(how, "tensors in the group, log")[4:] == pytest.approx([np.log(3) / np.log(4)] * 2)


def test_a_server_receives_every_push_and_sends_every_pull() -> None:
    servers, _ = costs(strategy(WORKERS, ps("s0"), ps("w0"), ps("w0")))
    # Nodes w0, w1, s0: the server gets both replicas' 40 MB and sends them; w0 only has to do with w1's 24 MB.
    assert servers["transmission"] == pytest.approx([2 * 24e6 / B, 0.0, 4 * 40e6 / B])


def test_local_replication_pushes_once_per_node() -> None:
    on = cluster(2, replicas=3)
    one = model(30.0)
    for once, times in ((False, 3), (True, 1)):
        batch = StrategyBatch.encode([strategy(on, ps("w0", once=once))], one, on)
        cost = CostModel(one, on, FREE)
        servers, _ = server_costs(batch, cost, Loads.of(batch, cost))
        assert servers[0, 0] == pytest.approx(2 * times * 30e6 / B)


def test_a_ring_sends_twice_all_but_its_own_part() -> None:
    _, collectives = costs(strategy(WORKERS, ar(0), ar(0), ar(1, "fp16")))
    # Two replicas: the ring's factor is 1. The first collective is that of shards in no group.
    assert collectives["transmission"] == pytest.approx([0.0, 60e6 / B, 2e6 / B])
    four = cluster(4)
    batch = StrategyBatch.encode([strategy(four, ar(0), ar(0), ar(0))], MODEL, four)
    cost = CostModel(MODEL, four, FREE)
    assert server_costs(batch, cost, Loads.of(batch, cost))[1][1, 0] == pytest.approx(1.5 * 64e6 / B)


def test_gathered_rows_go_round_with_their_indices() -> None:
    table = ModelSpec("table", (Variable("t", (1000, 250), sparse=True, touched_rows=100.0),), 1, compute_s=0.01)
    on = cluster(4)
    how = Strategy((VariableStrategy("t", (ar(0),)),), 4)
    batch = StrategyBatch.encode([how], table, on)
    cost = CostModel(table, on, FREE)
    loads = Loads.of(batch, cost)
    assert loads.rows.tolist() == [True]
    assert server_costs(batch, cost, loads)[1][1, 0] == pytest.approx(3 * 100 * (1000 + 8) / B)


def test_predefined_features_are_maxima_and_sums_in_units_of_the_pair() -> None:
    e = encoded(strategy(WORKERS, ps("s0"), ps("w0"), ar(0)))
    of_strategies, of_shards = predefined_features(e.batch, e.cost_model, Loads.of(e.batch, e.cost_model))
    named = dict(zip(PREDEFINED_FEATURES, of_strategies[0] * pair_scale_s(e.cost_model), strict=True))
    assert named["max over servers: transmission"] == pytest.approx(0.160)
    assert named["sum over servers: transmission"] == pytest.approx(0.200)
    assert named["max over collectives: transmission"] == pytest.approx(0.004)
    assert of_shards[:, 0] * pair_scale_s(e.cost_model) == pytest.approx([0.160, 0.040, 0.004])


@pytest.mark.parametrize("features", FEATURE_SETS)
def test_features_have_their_names_and_are_finite(features: str) -> None:
    space = StrategySpace(load_model("ncf-small"), load_cluster("emulated-2x2"), lossy=True)
    batch = space.sample(50, 0)
    e = Encoded(batch, CostModel(space.model, space.cluster), features)  # type: ignore[arg-type]
    assert e.of_shards.shape == (len(batch.destination), len(shard_feature_names(features)))  # type: ignore[arg-type]
    assert e.of_strategies.shape == (50, len(strategy_feature_names(features)))  # type: ignore[arg-type]
    assert np.isfinite(e.of_shards).all()
    assert np.isfinite(e.of_strategies).all()


def test_raw_features_are_free_of_scale() -> None:
    how = strategy(WORKERS, (ps("s0"), ps("w1")), ar(0), ar(1))
    larger = model(400.0, 200.0, 40.0, compute_s=1.0, ready=(1.0, 0.6, 0.3))
    faster = replace(WORKERS, nodes=cluster(2, servers=1, gbps=80.0).nodes)
    one = encoded(how, "raw").of_shards
    other = Encoded(StrategyBatch.encode([how], larger, faster), CostModel(larger, faster, FREE), "raw").of_shards
    assert other == pytest.approx(one, abs=1e-6)


def test_a_strategys_features_do_not_depend_on_its_batch() -> None:
    space = StrategySpace(load_model("ncf-small"), load_cluster("emulated-hetero-4"), lossy=True)
    cost = CostModel(space.model, space.cluster)
    whole = Encoded(space.sample(20, 0), cost, "both", np.linspace(0.1, 0.2, 20))
    for i in (0, 7, 19):
        assert whole.take(slice(i, i + 1)).of_strategies[0] == pytest.approx(whole.of_strategies[i])
    parts = [chunk.of_shards for chunk in whole.chunks(200)]
    assert len(parts) > 1
    assert np.concatenate(parts) == pytest.approx(whole.of_shards)


def test_every_shard_has_one_carrier() -> None:
    e = encoded(strategy(WORKERS, ps("s0"), ps("s0"), ar(0)))
    assert e.carrier.tolist() == [2, 2, 4]
    assert e.carriers == 5


def test_servers_of_other_names_are_alike() -> None:
    def on(node: str) -> np.ndarray:
        return encoded(
            Strategy(tuple(VariableStrategy(f"v{i}", (ParameterServer(node),)) for i in range(3)), 2)
        ).of_strategies

    assert on("w0") == pytest.approx(on("w1"))
    assert not np.allclose(on("w0"), on("s0"))
