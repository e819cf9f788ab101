"""Files as AutoDist writes them, byte by byte from the documented fields; and what is wrong with damaged ones."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import autosync_lab as asl
from autosync_lab.strategy import AllReduce, ParameterServer, Strategy, VariableStrategy
from autosync_lab.strategy.autodist import parse_autodist_strategy, read_autodist_strategy
from tests.strategy.autodist.wire import REPLICAS, Field, ar, message, ps, strategy

DATA = Path(__file__).parents[2] / "data" / "autodist"

SAID = Strategy(
    (
        VariableStrategy("kernel", (ParameterServer("10.0.0.2", True),)),
        VariableStrategy("bias", (AllReduce(3, "fp16"),)),
        VariableStrategy("emb", (ParameterServer("10.0.0.1"), AllReduce(4, "fp16-ef"), AllReduce(0)), axis=1),
    ),
    replicas=2,
)

RELEASED = strategy(
    [(1, "kernel:0"), ps("10.0.0.2:CPU:0", local=True)],
    [(1, "bias:0"), ar(3, compressor=1, spec=2)],
    [
        (1, "emb:0"),
        (4, "1,3"),
        (5, [(1, "emb/part_0:0"), ps()]),
        (5, [(1, "emb/part_1:0"), ar(4, compressor=2)]),
        (5, [(1, "emb/part_2:0"), ar()]),
    ],
)

LATER = strategy(
    [(1, "kernel:0"), ps("10.0.0.2:CPU:0", local=True)],
    [(1, "bias:0"), ar(3), (7, [(1, 1)])],
    [
        (1, "emb:0"),
        (5, "1,3"),
        (6, [(1, "emb/part_0:0"), ps()]),
        (6, [(1, "emb/part_1:0"), ar(4), (7, [(1, 2)])]),
        (6, [(1, "emb/part_2:0"), ar()]),
    ],
)


@pytest.mark.parametrize(("name", "data"), [("released", RELEASED), ("later", LATER)])
def test_both_layouts_say_the_same(name: str, data: bytes) -> None:
    read = parse_autodist_strategy(data)
    assert read.strategy == SAID
    assert read.id == "20200503T101112M000013"
    assert read.replicas == REPLICAS
    # The files of each layout that are kept stay readable.
    assert read_autodist_strategy(DATA / f"strategy-{name}.pb") == read


def test_layouts_that_differ_in_nothing() -> None:
    read = parse_autodist_strategy(strategy([(1, "w:0"), ar(5)]))
    assert read.strategy.variables == (VariableStrategy("w", (AllReduce(5),)),)


def test_a_variable_without_an_output_number_keeps_its_name() -> None:
    assert parse_autodist_strategy(strategy([(1, "w"), ar()])).strategy.variables[0].variable == "w"


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (ps(), (True, None)),
        (ps(sync=False), (False, None)),
        (ps(sync=False, staleness=4), (False, None)),
        (ps(staleness=4), (False, 4)),
    ],
)
def test_how_pushes_are_applied(server: Field, expected: tuple[bool, int | None]) -> None:
    read = parse_autodist_strategy(strategy([(1, "w:0"), server], [(1, "b:0"), ar()]))
    assert (read.strategy.synchronous, read.strategy.staleness) == expected


PARTS: list[Field] = [(5, [(1, "w/part_0:0"), ps()]), (5, [(1, "w/part_1:0"), ps()])]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ("no variables",)),
        (b"\xff\x00", ("no AutoDist strategy file",)),
        (b'{"format": "autosync-lab/strategy"}', ("no AutoDist strategy file",)),
        (RELEASED[:-3], ("no AutoDist strategy file",)),
        (RELEASED + message((9, 1)), ("message Strategy", "not known (received 9)")),
        (strategy([(1, "w:0"), ps(), (8, "x")]), ("message Node", "received 8")),
        (strategy([(1, "w:0"), (2, [(1, "a:CPU:0"), (5, 1)])]), ("message PSSynchronizer", "received 5")),
        (strategy([(1, "w:0"), ar()], [(1, "v:0"), (3, [(4, 1)])]), ("message AllReduceSynchronizer", "received 4")),
        (strategy([(1, "w:0"), ps()], replicas=()), ("at least 1 replica",)),
        (strategy([(1, "w:0"), ps()], replicas=("a:TPU:0",)), ("graph_config", "address:CPU:number or address:GPU")),
        (strategy([(1, "w:0"), ps()], replicas=("a:GPU:0", "a:GPU:0")), ("a device of its own",)),
        (strategy([(1, ":0"), ps()]), ("names its variable",)),
        (strategy([(1, "w:0")]), ("variable 'w'", "has a synchronizer")),
        (strategy([(1, "w:0"), ps()], [(1, "w"), ps()]), ("has one entry", "'w'")),
        (strategy([(1, "w:0"), ps("10.0.0.1")]), ("variable 'w'", "a destination is address:CPU:number")),
        (strategy([(1, "w:0"), ps("a:GPU:0")]), ("variable 'w'", "a destination is address:CPU:number", "a:GPU:0")),
        (strategy([(1, "w:0"), ps("")]), ("variable 'w'", "one destination")),
        (strategy([(1, "w:0"), (2, [(1, "a:CPU:0"), (1, "b:CPU:0")])]), ("variable 'w'", "one destination")),
        (strategy([(1, "w:0"), ps(staleness=-1)]), ("variable 'w'", "0 to 1000 steps", "-1")),
        (strategy([(1, "w:0"), ps()], [(1, "v:0"), ps(sync=False)]), ("variable 'v'", "variable 'w' says sync True")),
        (strategy([(1, "w:0"), ar(-2)]), ("variable 'w'", "a group is 0 or more", "-2")),
        (strategy([(1, "w:0"), ar(spec=3)]), ("variable 'w'", "kind of collective", "3")),
        (strategy([(1, "w:0"), ar(compressor=3)]), ("variable 'w'", "'PowerSGDCompressor'", "HorovodCompressorEF")),
        (strategy([(1, "w:0"), ar(compressor=4)]), ("variable 'w'", "received 4")),
        (strategy([(1, "w:0"), ar(), (7, [(1, 3)])]), ("variable 'w'", "'SFBCompressor'")),
        (strategy([(1, "w:0"), ps(), (7, [(1, 1)])]), ("variable 'w'", "only all-reduced gradients are compressed")),
        (strategy([(1, "w:0"), (4, [(3, 1)])]), ("variable 'w'", "'SFBSynchronizer'")),
        (strategy([(1, "w:0"), (4, "2"), (5, "2")]), ("different layouts",)),
        (strategy([(1, "w:0"), *PARTS]), ("variable 'w'", "shards need a partitioner")),
        (strategy([(1, "w:0"), (4, "2,2"), *PARTS]), ("variable 'w'", "exactly one axis", "'2,2'")),
        (strategy([(1, "w:0"), (4, "1,1"), *PARTS]), ("variable 'w'", "exactly one axis")),
        (strategy([(1, "w:0"), (4, "0,2"), *PARTS]), ("variable 'w'", "exactly one axis")),
        (strategy([(1, "w:0"), (4, "3"), *PARTS]), ("variable 'w'", "makes 3 shards (received 2)")),
        (strategy([(1, "w:0"), (4, "2"), *PARTS[::-1]]), ("variable 'w'", "shard 0 is called 'w/part_0:0'")),
        (
            strategy([(1, "w:0"), (4, "2"), (5, [(1, "w/part_0:0"), (4, "2"), ps()]), PARTS[1]]),
            ("variable 'w'", "not partitioned again"),
        ),
    ],
)
def test_what_is_wrong_is_said_once_and_clearly(data: bytes, words: tuple[str, ...]) -> None:
    with pytest.raises(asl.InvalidInput) as caught:
        parse_autodist_strategy(data, where="runs/s1")
    text = str(caught.value)
    assert text.startswith("runs/s1: ")
    assert [word for word in words if word not in text] == []
    assert "\n" not in text


@given(st.sampled_from([RELEASED, LATER]), st.data())
def test_damage_is_an_error_and_never_a_crash(whole: bytes, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        parse_autodist_strategy(cut)
    except asl.InvalidInput:
        pass


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(asl.InvalidInput, match="cannot be read"):
            read_autodist_strategy(path)


def test_strategies_are_read_without_tensorflow() -> None:
    code = f"""
import sys
sys.modules["tensorflow"] = None
from pathlib import Path
from autosync_lab.strategy.autodist import read_autodist_strategy
print(read_autodist_strategy(Path({str(DATA / "strategy-released.pb")!r})).strategy.id)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == SAID.id
