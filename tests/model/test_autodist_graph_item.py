"""Variables of AutoDist's graph items, written by hand and by TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autosync_lab as asl
from autosync_lab.model.autodist_graph_item import parse_graph_item, read_graph_item
from tests.strategy.autodist.wire import Field, message

DATA = Path(__file__).parents[1] / "data" / "autodist"


def shape(*dimensions: int) -> list[Field]:
    return [(2, [(1, d)]) for d in dimensions]


def node(name: str, dimensions: list[Field], dtype: int = 1, op: str = "VarHandleOp") -> Field:
    """A NodeDef; container and other attributes of TensorFlow stand between those that are read."""
    attributes: list[list[Field]] = [
        [(1, "container"), (2, [(2, b"")])],
        [(1, "dtype"), (2, [(6, dtype)])],
        [(1, "shape"), (2, [(7, dimensions)])],
    ]
    return 1, [(1, name), (2, op), (3, "input"), *((5, a) for a in attributes)]


def variable(name: str, trainable: int = 1) -> Field:
    return 1, packed("VariableDef", (1, name), (2, "init"), (5, 1), (7, trainable))


def packed(kind: str, *fields: Field) -> list[Field]:
    return [(1, f"type.googleapis.com/tensorflow.{kind}"), (2, message(*fields))]


NODES = [
    node("emb", shape(1000, 16)),
    node("step", shape(), dtype=9),
    node("dense/kernel", shape(16, 4), dtype=2),
    node("scale", shape(), op="VariableV2"),
    node("unused", shape(3)),
    (1, [(1, "add"), (2, "AddV2")]),
]
PAIRS: list[list[Field]] = [
    [(1, "i:0;v:0;s:0"), (2, "emb:0")],
    [(1, "g1:0"), (2, "dense/kernel:0")],
    [(1, "g2:0"), (2, "scale:0")],
    [(1, "g3:0"), (2, "step:0")],
]
VARIABLES = [
    variable("emb:0"),
    variable("step:0", 0),
    variable("dense/kernel:0"),
    variable("scale:0"),
    variable("unused:0"),
]


def item(
    nodes: Sequence[Field] = NODES, pairs: Sequence[list[Field]] = PAIRS, variables: Sequence[Field] = VARIABLES
) -> bytes:
    return message((1, packed("GraphDef", *nodes)), *((2, pair) for pair in pairs), (3, variables))


def test_what_a_graph_item_says() -> None:
    read = parse_graph_item(item())
    found = [(v.name, v.shape, v.dtype, v.sparse) for v in read.variables]
    assert found == [
        ("emb", (1000, 16), "float32", True),
        ("dense/kernel", (16, 4), "float64", False),
        ("scale", (), "float32", False),
    ]
    assert read.without_gradient == ("unused",)
    # A file that is kept stays readable.
    assert read_graph_item(DATA / "graph_item") == read


def test_a_model_with_estimates_that_it_names() -> None:
    model = parse_graph_item(item()).model("m", batch_size=32, lookups=500)
    assert (model.name, model.batch_size, model.flops) == ("m", 32, None)
    assert [v.ready for v in model.variables] == [1.0, pytest.approx(7 / 9), pytest.approx(5 / 9)]
    drawn = np.random.default_rng(0).integers(1000, size=(400, 500))
    touched = np.mean([len(np.unique(rows)) for rows in drawn])
    assert model.variables[0].touched_rows == pytest.approx(touched, rel=0.01)
    assert [note.split(":")[0] for note in model.notes] == [
        "when gradients are ready is an estimate",
        "touched rows are an estimate",
        "unused",
    ]


def test_a_gradient_of_rows_and_a_dense_one_are_a_dense_one() -> None:
    read = parse_graph_item(item(pairs=[*PAIRS, [(1, "g4:0"), (2, "emb:0")]]))
    assert not read.variables[0].sparse


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ("no AutoDist graph item", "no trainable variables")),
        (b"\xff", ("no AutoDist graph item",)),
        (item(variables=[variable("step:0", 0)]), ("no trainable variables",)),
        (item(variables=[*VARIABLES, variable("emb")]), ("listed once", "'emb'")),
        (item(variables=[(1, packed("SaverDef"))]), ("tensorflow.VariableDef is expected", "SaverDef")),
        (message((1, packed("MetaGraphDef")), (3, VARIABLES)), ("tensorflow.GraphDef is expected", "MetaGraphDef")),
        (message((1, [(1, "x/tensorflow.GraphDef"), (2, b"\xff")]), (3, VARIABLES)), ("its GraphDef is damaged",)),
        (item(pairs=[]), ("no trainable variable has a gradient",)),
        (item(pairs=[[(1, "a;b"), (2, "emb:0")]]), ("indices;values;dense_shape", "'a;b'")),
        (item(nodes=NODES[1:]), ("variable 'emb'", "the graph has no such variable")),
        (item(nodes=[(1, [(1, "emb"), (2, "VarHandleOp")])]), ("variable 'emb'", "shape and the dtype")),
        (item(nodes=[node("emb", [(3, 1)]), *NODES[1:]]), ("variable 'emb'", "a known shape")),
        (item(nodes=[node("emb", shape(-1, 2)), *NODES[1:]]), ("variable 'emb'", "a known shape", "(-1, 2)")),
        (item(nodes=[node("emb", shape()), *NODES[1:]]), ("variable 'emb'", "has rows")),
        (item(nodes=[node("emb", shape(4), dtype=3), *NODES[1:]]), ("variable 'emb'", "unknown dtype", "dtype 3")),
    ],
)
def test_what_is_wrong_is_said_once_and_clearly(data: bytes, words: tuple[str, ...]) -> None:
    with pytest.raises(asl.InvalidInput) as caught:
        parse_graph_item(data, where="ncf/graph_item")
    text = str(caught.value)
    assert text.startswith("ncf/graph_item: ")
    assert [word for word in words if word not in text] == []
    assert "\n" not in text


@given(st.data())
def test_damage_is_an_error_and_never_a_crash(data: st.DataObject) -> None:
    damaged = bytearray(item())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse_graph_item(bytes(damaged)).model("m", 1, 1)
    except asl.InvalidInput:
        pass


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(asl.InvalidInput, match="cannot be read"):
            read_graph_item(path)


def test_what_tensorflow_itself_serializes() -> None:
    tf = pytest.importorskip("tensorflow")
    with tf.Graph().as_default() as graph:
        table = tf.compat.v1.get_variable("table", [50, 8], use_resource=True)
        kernel = tf.compat.v1.get_variable("dense/kernel", [8, 3], tf.float64, use_resource=True)
        old = tf.compat.v1.get_variable("old", [3], use_resource=False)
        frozen = tf.compat.v1.get_variable("frozen", [2], trainable=False, use_resource=True)
        rows = tf.gather(table, [1, 2, 2])
        loss = tf.reduce_sum(tf.cast(rows, tf.float64) @ kernel) + tf.cast(tf.reduce_sum(old), tf.float64)
        targets = [table, kernel, old]
        gradients = tf.gradients(loss, targets)
    pairs: list[list[Field]] = []
    for gradient, target in zip(gradients, targets, strict=True):
        if isinstance(gradient, tf.IndexedSlices):
            name = ";".join(t.name for t in (gradient.indices, gradient.values, gradient.dense_shape))
        else:
            name = gradient.name
        pairs.append([(1, name), (2, target.name)])
    with graph.as_default():
        definitions = [v.to_proto().SerializeToString() for v in (*targets, frozen)]
    data = message(
        (1, [(1, "type.googleapis.com/tensorflow.GraphDef"), (2, graph.as_graph_def().SerializeToString())]),
        *((2, pair) for pair in pairs),
        (3, [(1, [(1, "type.googleapis.com/tensorflow.VariableDef"), (2, d)]) for d in definitions]),
    )
    found = [(v.name, v.shape, v.dtype, v.sparse) for v in parse_graph_item(data).variables]
    assert found == [
        ("table", (50, 8), "float32", True),
        ("dense/kernel", (8, 3), "float64", False),
        ("old", (3,), "float32", False),
    ]
