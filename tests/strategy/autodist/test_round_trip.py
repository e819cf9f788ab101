"""What AutoDist can say comes back as it was written; what it cannot is refused by the variable's name."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autosync_lab as asl
from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy, builder_names
from autosync_lab.strategy.autodist import LAYOUTS, dump_autodist_strategy, parse_autodist_strategy
from tests.strategies import random_strategy

MODEL = ModelSpec(
    "m",
    (
        Variable("a:0", (40, 30)),
        Variable("bias", (30,)),
        Variable("scale", ()),
        Variable("emb/part_0", (500, 8), sparse=True, touched_rows=20.0),
        Variable("conv", (3, 3, 6, 6)),
    ),
    4,
)
CLUSTERS = (
    load_cluster("emulated-servers"),
    ClusterSpec("gpus", (Node("fd00::1", 2, gpus=(0, 3)), Node("10.0.0.2", 1, gpus=(1, 2)), Node("s", 0))),
)


def sayable(strategy: Strategy, cluster: ClusterSpec) -> Strategy:
    """The nearest strategy that AutoDist can say: nothing of it is left out of the round trip."""
    fresh = iter(range(10_000, 20_000))
    entries = []
    for variable, entry in zip(MODEL.variables, strategy.variables, strict=True):
        shards = []
        for shard in entry.shards:
            if isinstance(shard, AllReduce):
                if variable.sparse and shard.sparse_as == "dense":
                    shard = ParameterServer(cluster.nodes[-1].name)
                else:
                    group = next(fresh) if shard.group is None else shard.group
                    compressor = "fp16" if shard.compressor == "bf16" else shard.compressor
                    shard = replace(shard, group=group, compressor=compressor)
            shards.append(shard)
        entries.append(replace(entry, shards=tuple(shards)))
    return replace(strategy, variables=tuple(entries), push_credit=0)


def with_settings(strategy: Strategy, staleness: int) -> Strategy:
    """0: synchronous; 1: asynchronous without a bound; more: with one."""
    on_server = any(isinstance(s, ParameterServer) for v in strategy.variables for s in v.shards)
    if staleness == 0 or not on_server:
        return strategy
    return strategy.with_settings(synchronous=False, staleness=None if staleness == 1 else staleness)


@given(st.integers(0, 2**32), st.sampled_from(CLUSTERS), st.sampled_from(LAYOUTS), st.integers(0, 5))
def test_random_strategies_come_back_equal(seed: int, cluster: ClusterSpec, layout: str, staleness: int) -> None:
    drawn = random_strategy(MODEL, cluster, np.random.default_rng(seed), lossy=True)
    strategy = with_settings(sayable(drawn, cluster), staleness)
    data = dump_autodist_strategy(strategy, MODEL, cluster, layout=layout)
    read = parse_autodist_strategy(data)
    assert read.strategy == strategy
    assert read.id == strategy.id
    nodes = [cluster.nodes[n].name for n in cluster.replica_nodes]
    assert list(read.replica_nodes) == nodes
    assert len(set(read.replicas)) == len(nodes)


BEYOND_AUTODIST = {
    "horovod": "variable '.+': in AutoDist every all-reduced shard is in a group",
    "horovod-fp16": "variable '.+': in AutoDist every all-reduced shard is in a group",
    "poseidon": "variable '.+': in AutoDist every all-reduced shard is in a group",
    "byteps": "push_credit: AutoDist has no limit",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", builder_names())
def test_builders_come_back_or_are_refused(name: str, layout: str) -> None:
    model, cluster = asl.load_model("ncf"), load_cluster("cluster-b")
    strategy = asl.build_strategy(name, model, cluster)
    if name in BEYOND_AUTODIST:
        with pytest.raises(asl.InvalidInput, match=BEYOND_AUTODIST[name]):
            dump_autodist_strategy(strategy, model, cluster, layout=layout)
        return
    data = dump_autodist_strategy(strategy, model, cluster, layout=layout)
    assert parse_autodist_strategy(data).strategy == strategy


def refused(entry: VariableStrategy, **settings: object) -> str:
    others = [VariableStrategy(v.name, (AllReduce(0),)) for v in MODEL.variables if not v.sparse]
    others.insert(3, VariableStrategy("emb/part_0", (ParameterServer("s"),)))
    entries = [entry if entry.variable == o.variable else o for o in others]
    with pytest.raises(asl.InvalidInput) as caught:
        dump_autodist_strategy(Strategy(tuple(entries), 3, **settings), MODEL, CLUSTERS[1])  # type: ignore[arg-type]
    return str(caught.value)


def test_what_autodist_cannot_say_is_refused() -> None:
    plain = VariableStrategy("bias", (AllReduce(0),))
    assert refused(VariableStrategy("bias", (AllReduce(),))).startswith("variable 'bias': in AutoDist every")
    assert refused(VariableStrategy("bias", (AllReduce(2**31),))).endswith("(received 2147483648)")
    bf16 = refused(VariableStrategy("bias", (AllReduce(7, "bf16"),)))
    assert bf16 == (
        "variable 'bias': AutoDist has no such compressor (received 'bf16'); did you mean 'fp16'? "
        "Valid: none, fp16, fp16-ef."
    )
    dense = refused(VariableStrategy("emb/part_0", (AllReduce(7, "none", "dense"),)))
    assert dense == "variable 'emb/part_0': AutoDist all-gathers the rows of a sparse variable (received 'dense')"
    assert refused(plain, push_credit=3) == "push_credit: AutoDist has no limit on the pushes in flight (received 3)"
    assert "staleness is 1 or more" in refused(plain, synchronous=False, staleness=0)
    gathered = VariableStrategy("emb/part_0", (AllReduce(1),))
    assert "only parameter servers are asynchronous" in refused(gathered, synchronous=False)


def test_a_gpu_is_one_replicas() -> None:
    cluster = ClusterSpec("two on one", (Node("a", 2, gpus=(0,)),))
    model = ModelSpec("w", (Variable("w", (4,)),), 1)
    with pytest.raises(asl.InvalidInput, match=r"node 'a': .* this node has 1 \(received 2\)"):
        dump_autodist_strategy(asl.build_strategy("ps", model, cluster), model, cluster)


def test_an_unknown_layout() -> None:
    model, cluster = asl.load_model("ncf"), load_cluster("cluster-b")
    with pytest.raises(asl.InvalidInput, match="Valid: released, later"):
        dump_autodist_strategy(asl.build_strategy("ps", model, cluster), model, cluster, layout="newest")
