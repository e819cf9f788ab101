"""Strategies as data: shards, ids, JSON, validation, traffic."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autosync_lab as asl
from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.model import ModelSpec, Variable
from autosync_lab.strategy import (
    AllReduce,
    ParameterServer,
    Strategy,
    VariableStrategy,
    build_strategy,
    node_traffic,
    shard_lengths,
    shard_offsets,
    shard_shapes,
    traffic_matrix,
    validate_strategy,
)
from tests.strategies import random_strategy

MODEL = ModelSpec(
    "m",
    (
        Variable("kernel", (40, 30)),
        Variable("bias", (30,)),
        Variable("scale", ()),
        Variable("table", (500, 8), sparse=True, touched_rows=20.0),
        Variable("half", (6, 6), "float16"),
    ),
    4,
)
CLUSTER = load_cluster("emulated-servers")


@given(st.integers(1, 5000), st.data())
def test_shards_tile_an_axis_exactly(length: int, data: st.DataObject) -> None:
    shards = data.draw(st.integers(1, length))
    lengths = shard_lengths(length, shards)
    assert sum(lengths) == length
    assert max(lengths) - min(lengths) <= 1
    assert sorted(lengths, reverse=True) == list(lengths)
    assert np.array_equal(np.diff(shard_offsets(length, shards)), lengths)


@given(st.integers(0, 2**32), st.booleans())
def test_random_strategies_tile_round_trip_and_keep_their_id(seed: int, lossy: bool) -> None:
    strategy = random_strategy(MODEL, CLUSTER, np.random.default_rng(seed), lossy=lossy)
    again = Strategy.loads(strategy.dumps())
    assert again == strategy
    assert hash(again) == hash(strategy)
    assert again.id == strategy.id
    for variable, entry in zip(MODEL.variables, strategy.variables, strict=True):
        shapes = shard_shapes(variable, entry)
        assert sum(math.prod(s) for s in shapes) == variable.size
        assert all(math.prod(s) > 0 for s in shapes)


def test_ids_are_the_same_in_another_process_and_differ_by_content() -> None:
    strategy = build_strategy("byteps", asl.load_model("vgg-mini"), CLUSTER)
    code = (
        "import autosync_lab as a; print(a.build_strategy('byteps', a.load_model('vgg-mini'), "
        "a.load_cluster('emulated-servers')).id)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert printed == strategy.id
    assert strategy.with_settings(push_credit=9).id != strategy.id


def with_entry(**change: Any) -> Strategy:
    entries = [VariableStrategy(v.name, (AllReduce(),)) for v in MODEL.variables]
    name = change.pop("variable")
    i = next(i for i, e in enumerate(entries) if e.variable == name)
    entries[i] = replace(entries[i], **change)
    return Strategy(tuple(entries), CLUSTER.replicas)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"variable": "kernel", "shards": (ParameterServer("node9"),)}, ("'kernel'", "'node9'", "node0")),
        ({"variable": "kernel", "shards": (AllReduce(),) * 2, "axis": 2}, ("'kernel'", "partition axis", "2")),
        ({"variable": "bias", "shards": (AllReduce(),) * 31, "axis": 0}, ("'bias'", "30 rows", "31")),
        ({"variable": "scale", "shards": (AllReduce(),) * 2, "axis": 0}, ("'scale'", "partition axis")),
        ({"variable": "table", "shards": (AllReduce(),) * 2, "axis": 1}, ("'table'", "axis 0", "1")),
        ({"variable": "table", "shards": (AllReduce(None, "fp16"),)}, ("'table'", "fp16", "dense")),
        ({"variable": "half", "shards": (AllReduce(None, "fp16"),)}, ("'half'", "float16", "fp16")),
    ],
)
def test_errors_name_variable_rule_and_value(change: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(asl.InvalidInput) as caught:
        validate_strategy(with_entry(**change), MODEL, CLUSTER)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_group_is_of_one_kind() -> None:
    entries = [VariableStrategy(v.name, (AllReduce(),)) for v in MODEL.variables]
    entries[0] = VariableStrategy("kernel", (AllReduce(0, "fp16"),))
    entries[1] = VariableStrategy("bias", (AllReduce(0),))
    with pytest.raises(asl.InvalidInput, match="group 0 carries dense gradients with compressor 'fp16'"):
        validate_strategy(Strategy(tuple(entries), 4), MODEL, CLUSTER)


def test_entries_are_the_model_s_variables_in_order() -> None:
    good = with_entry(variable="bias")
    validate_strategy(good, MODEL, CLUSTER)
    for entries, words in (
        (good.variables[1:], "every trainable variable"),
        ((*good.variables[1:], good.variables[0]), "forward order"),
        ((*good.variables, VariableStrategy("karnel", (AllReduce(),))), "did you mean 'kernel'"),
    ):
        with pytest.raises(asl.InvalidInput, match=words):
            validate_strategy(replace(good, variables=tuple(entries)), MODEL, CLUSTER)
    with pytest.raises(asl.InvalidInput, match="4 replicas"):
        validate_strategy(replace(good, replicas=3), MODEL, CLUSTER)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AllReduce(-1), "group id"),
        (lambda: AllReduce(0, "fp61"), "did you mean 'fp16'"),
        (lambda: AllReduce(0, "none", "rows"), "way to reduce rows"),
        (lambda: VariableStrategy("v", ()), "at least one shard"),
        (lambda: VariableStrategy("v", (AllReduce(),) * 2), "needs a partition axis"),
        (lambda: VariableStrategy("v", (AllReduce(),), 0), "at least 2 shards"),
        (lambda: Strategy((), 0), "at least 1 replica"),
        (lambda: Strategy((), 1, push_credit=-1), "push_credit"),
        (lambda: Strategy((), 1, staleness=1), "asynchronous"),
        (lambda: Strategy((VariableStrategy("v", (AllReduce(),)),) * 2, 1), "one entry"),
    ],
)
def test_invalid_strategies_cannot_be_built(make: Any, words: str) -> None:
    with pytest.raises(asl.InvalidInput, match=words):
        make()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("format"), "no strategy file"),
        (lambda d: d.update(version=99), "version 1"),
        (lambda d: d.pop("variables"), "'variables' is missing"),
        (lambda d: d.update(replicas="4"), "whole number"),
        (lambda d: d.update(replica=4), "did you mean 'replicas'"),
        (lambda d: d.update(variables={}), "is a list"),
        (lambda d: d["variables"][0].pop("variable"), "names its variable"),
        (lambda d: d["variables"][0].update(shards=None), "'shards' is a list"),
        (lambda d: d["variables"][0]["shards"].append({}), "either 'ps'"),
        (lambda d: d["variables"][0]["shards"][0].update(ar="x"), "whole number"),
        (lambda d: d["variables"][0]["shards"][0].update(compressor="zip"), "'kernel'"),
        (lambda d: d["variables"][0]["shards"][0].update(compressor=["fp16"]), "'kernel'"),
        (lambda d: d["variables"][0].update(shards=[]), "variable 'kernel': a variable has at least one shard"),
        (lambda d: d["variables"][0].update(shards=[{"ps": "node0", "local_replication": "no"}]), "true or false"),
        (lambda d: d["variables"][0].update(axis=-1), "partition axis is 0 or more"),
        (lambda d: d["variables"].append(d["variables"][0]), "a variable has one entry"),
        (lambda d: d.update(synchronous="false"), "'synchronous' is true or false"),
        (lambda d: d.update(synchronous=None), "'synchronous' is true or false"),
        (lambda d: d.update(synchronous=False, staleness="2"), "'staleness' is a whole number"),
        (lambda d: d.update(synchronous=False, staleness=1.5), "'staleness' is a whole number"),
        (lambda d: d.update(push_credit=-1), "push_credit"),
    ],
)
def test_damaged_files_say_where(change: Any, words: str, tmp_path: Path) -> None:
    document = json.loads(with_entry(variable="bias").dumps())
    change(document)
    path = tmp_path / "strategy.json"
    path.write_text(json.dumps(document))
    with pytest.raises(asl.InvalidInput) as caught:
        build_strategy(path, MODEL, CLUSTER)
    assert words in str(caught.value)
    assert "strategy.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, f'{{"replicas": 1{"0" * 5000}}}', "\0"])
def test_what_is_no_json_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "strategy.json"
    path.write_text(text)
    with pytest.raises(asl.InvalidInput, match=r"strategy\.json: this is no JSON"):
        build_strategy(path, MODEL, CLUSTER)


def test_asynchronous_strategies_are_valid_and_round_trip() -> None:
    entries = tuple(VariableStrategy(v.name, (ParameterServer("server0"),)) for v in MODEL.variables)
    strategy = Strategy(entries, CLUSTER.replicas, synchronous=False, staleness=2)
    validate_strategy(strategy, MODEL, CLUSTER)
    assert not strategy.lossless
    assert Strategy.loads(strategy.dumps()) == strategy


def test_a_name_that_is_no_builder_and_no_file() -> None:
    for name in ("", "x" * 5000, "a\0b"):
        with pytest.raises(asl.InvalidInput, match="no builder and no file has this name"):
            build_strategy(name, MODEL, CLUSTER)


def test_traffic_of_textbook_strategies() -> None:
    model = ModelSpec("w", (Variable("w", (1000, 100)),), 1)
    nbytes = 400_000
    four = ClusterSpec("four", tuple(Node(f"n{i}") for i in range(4)))
    ps = build_strategy("ps", model, four)
    sent, received = node_traffic(model, four, ps)
    assert sent.tolist() == received.tolist() == [3 * nbytes, nbytes, nbytes, nbytes]
    ring = build_strategy("horovod", model, four)
    assert traffic_matrix(model, four, ring).sum(axis=1).tolist() == [2 * 3 / 4 * nbytes] * 4
    half = build_strategy("horovod-fp16", model, four)
    assert traffic_matrix(model, four, half).sum() == traffic_matrix(model, four, ring).sum() / 2
    pairs = ClusterSpec("pairs", (Node("a", 2), Node("b", 2)))
    assert traffic_matrix(model, pairs, build_strategy("horovod", model, pairs)).tolist() == [
        [0.0, 2 * 3 / 4 * nbytes],
        [2 * 3 / 4 * nbytes, 0.0],
    ]
    for local, times in ((False, 2), (True, 1)):
        entry = VariableStrategy("w", (ParameterServer("a", local),))
        matrix = traffic_matrix(model, pairs, Strategy((entry,), 4))
        assert matrix.tolist() == [[0.0, times * nbytes], [times * nbytes, 0.0]]


def test_traffic_of_rows() -> None:
    table = Variable("t", (100, 8), sparse=True, touched_rows=5.0)
    model = ModelSpec("t", (table,), 1)
    two = ClusterSpec("two", (Node("a"), Node("b")))
    on_a = Strategy((VariableStrategy("t", (ParameterServer("a"),)),), 2)
    # b asks for 5 rows, gets them, pushes them with their ids.
    assert traffic_matrix(model, two, on_a).tolist() == [[0.0, 5 * 32], [5 * 8 + 5 * (32 + 8), 0.0]]
    gathered = Strategy((VariableStrategy("t", (AllReduce(),)),), 2)
    assert traffic_matrix(model, two, gathered).tolist() == [[0.0, 5 * 40], [5 * 40, 0.0]]
    dense = Strategy((VariableStrategy("t", (AllReduce(None, "none", "dense"),)),), 2)
    assert traffic_matrix(model, two, dense).tolist() == [[0.0, 3200.0], [3200.0, 0.0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: AllReduce(1.5),  # type: ignore[arg-type]
        lambda: AllReduce(True),
        lambda: AllReduce("x"),  # type: ignore[arg-type]
        lambda: ParameterServer(5),  # type: ignore[arg-type]
        lambda: VariableStrategy("w", (1, 2), 0),  # type: ignore[arg-type]
        lambda: VariableStrategy("w", (AllReduce(), AllReduce()), 0.5),  # type: ignore[arg-type]
        lambda: Strategy((), float("nan")),  # type: ignore[arg-type]
        lambda: Strategy((), 2, synchronous="no"),  # type: ignore[arg-type]
        lambda: Strategy((), 2, push_credit=1.0),  # type: ignore[arg-type]
        lambda: Strategy((), 2, synchronous=False, staleness=20_000),
    ],
)
def test_nonsense_cannot_be_built(make: Callable[[], object]) -> None:
    with pytest.raises(asl.InvalidInput):
        make()


def test_a_changed_file_is_told_by_its_id() -> None:
    document = Strategy((VariableStrategy("w", (AllReduce(),)),), 2).to_json()
    document["push_credit"] = 4
    with pytest.raises(asl.InvalidInput, match="was changed"):
        Strategy.from_json(document)
    del document["id"]
    assert Strategy.from_json(document).push_credit == 4
