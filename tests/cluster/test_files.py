"""Cluster files: AutoDist's resource specs and our own; each mistake is one clear error."""

import math
import string
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import autosync_lab as asl
from autosync_lab.cluster import ClusterSpec, Node, cluster_names, dump_cluster, load_cluster
from autosync_lab.cluster.yaml_file import parse_cluster

SPECS = Path(__file__).parents[1] / "data" / "resource_specs"
LETTERS = string.ascii_letters
PIECES = (
    "nodes: ",
    "name: ",
    "ssh: ",
    "options: ",
    "launcher: ",
    "address: ",
    "replicas: ",
    "gpus: ",
    "latency_s: ",
    "<<: ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "\n",
    "  ",
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a",
    "!!set ",
    "!!omap ",
    "!!pairs ",
    "!!binary ",
    "!!timestamp ",
    "!!int ",
    "!!float ",
    "!!bool ",
    "!!null ",
    "!!str ",
    "!!map ",
    "!!seq ",
    "!x ",
    "a",
    "b",
    "0",
    "1",
    "-1",
    "1.5",
    ".nan",
    ".inf",
    "true",
    "null",
    "2001-99-99",
    "'",
    '"',
    "|",
    "%",
    "\t",
    "emulated",
    "ssh",
    "local",
)
"""What YAML and cluster files are made of."""


def summary(name: str) -> list[tuple[str, int, float, bool]]:
    return [(n.name, n.replicas, n.up_gbps, n.chief) for n in load_cluster(SPECS / f"{name}.yml").nodes]


def test_autodist_resource_specs_keep_their_meaning() -> None:
    assert summary("single-node-2gpu") == [("localhost", 2, 1.0, True)]
    assert summary("three-nodes-two-ssh-groups") == [
        ("198.51.100.187", 4, 50.0, True),
        ("198.51.100.140", 4, 50.0, False),
        ("198.51.100.65", 2, 25.0, False),
    ]
    assert summary("two-nodes-cpu-mixed") == [("192.0.2.11", 2, 1.0, True), ("192.0.2.12", 1, 10.0, False)]
    assert summary("two-nodes-uneven-gpus") == [("192.0.2.11", 2, 1.0, True), ("192.0.2.12", 1, 1.0, False)]
    groups = load_cluster(SPECS / "two-nodes-uneven-gpus.yml").ssh
    assert groups == {"conf": {"username": "trainer", "key_file": "~/.ssh/id_ed25519", "port": 12345}}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bad-loopback-in-cluster", ("loopback", "localhost")),
        ("bad-no-chief", ("chief: true",)),
    ],
)
def test_bad_resource_specs_give_one_clear_error(name: str, words: tuple[str, ...]) -> None:
    with pytest.raises(asl.InvalidInput) as caught:
        load_cluster(SPECS / f"{name}.yml")
    assert f"{name}.yml" in str(caught.value)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a map"),
        ("[1, 2]", "a map"),
        ("nodes: []", "at least one node"),
        ("nodes: 3", "at least one node"),
        ("nodes: [5]", "a node is a map"),
        ("nodes: [{gpus: [0]}]", "`address`"),
        ("nodes: [{address: a, gpu: [0]}]", "did you mean 'gpus'"),
        ("nodes: [{address: a, gpus: 2}]", "list of device numbers"),
        ("nodes: [{address: a, gpus: [0, 0]}]", "twice"),
        ("nodes: [{address: a, replicas: -1}]", "`replicas`"),
        ("nodes: [{address: a, replicas: true}]", "`replicas`"),
        ("nodes: [{address: a, network_bandwidth: fast}]", "is a number"),
        ("nodes: [{address: a, network_bandwidth: -1}]", "above 0"),
        ("nodes: [{address: a, network_bandwidth: .nan}]", "is a number"),
        ("nodes: [{address: a, latency_s: .inf}]", "finite"),
        ("nodes: [{address: a, chief: 1}]", "true or false"),
        ("nodes: [{address: a, ssh_config: x}]", "unknown ssh group"),
        ("nodes: [{address: a}, {address: a}]\nlauncher: emulated", "one name"),
        ("nodes: [{address: a, chief: true}, {address: b, chief: true}]\nlauncher: emulated", "one node is the chief"),
        ("nodes: [{address: a, replicas: 0}]", "at least one node has a replica"),
        ("nodes: [{address: a}]\nlauncher: emulate", "did you mean 'emulated'"),
        ("nodes: [{address: a}]\nnodes: [{address: b}]", "given twice"),
        ("nodes: [{address: a}]\nlauncher: emulated\noptions: {queue: 3}", "did you mean 'queue_bytes'"),
        ("nodes: [{address: a}]\nlauncher: emulated\noptions: {congestion_control: '$(reboot)'}", "congestion"),
        ("nodes: [{address: a}]\nssh: {g: {port: 99999}}", "65535"),
        ("nodes: [{address: a}]\nname: 7", "`name` is text"),
        ("nodes: [unclosed", "no YAML"),
        ("!!python/object/apply:os.system ['true']", "no YAML"),
        ("[" * 5000, "YAML"),
        ("? [a, b]\n: 3\nnodes: [{address: a}]", "a key is text"),
        ("nodes: [{address: a, ssh_config: [x]}]", "unknown ssh group"),
        (f"nodes: [{{address: a, network_bandwidth: 1{'0' * 400}}}]", "too large a number"),
        (f"nodes: [{{address: a, network_bandwidth: 1{'0' * 5000}}}]", "this is no int"),
        ("nodes: [{address: a}]\nname: 2001-99-99", "this is no timestamp"),
        ("nodes: [{address: a, latency_s: !!float abc}]", "this is no float"),
        ("nodes: [{address: a, chief: !!bool x}]", "this is no bool"),
        ("nodes: [{address: a, replicas: !!int ''}]", "line 1"),
        ("nodes: [{address: a, replicas: 1000000000}]", "1024 replicas"),
        (f"nodes: [{{address: a, replicas: 0x1{'F' * 5000}}}]", "a number of 20001 bits"),
        ("nodes: [{address: 192.0.2.1, name: b}]", "not both"),
        ("nodes: [{address: -oProxyCommand=reboot}]", "name is that of a host"),
        ('nodes: [{address: "a\\n192.0.2.9 b"}]', "name is that of a host"),
        ("nodes: [{address: LOCALHOST, chief: true}, {address: b}]", "loopback"),
        ("nodes: [{address: a}]\nname: ''", "needs a name"),
        ("nodes: [{address: a}]\noptions: {queue_bytes: 9}", "unknown option of the launcher 'local'"),
        ("nodes: [{address: a}]\noptions: 3", "are a map"),
        ("nodes: [{address: a}]\nssh: {g: {shared_envs: {A: [1]}}}", "maps names to texts"),
    ],
)
def test_each_mistake_has_its_message(text: str, words: str) -> None:
    with pytest.raises(asl.InvalidInput) as caught:
        parse_cluster(text, where="file.yml", name="x")
    assert words in str(caught.value)
    assert "file.yml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    huge = tmp_path / "huge.yml"
    huge.write_bytes(b"# " + b"x" * (1 << 20))
    for path, words in (
        (tmp_path, "this is a folder"),
        (tmp_path / "no.yml", "cannot be read: No such file"),
        (tmp_path / ("x" * 300), "cannot be read"),
        (Path("nul\0byte.yml"), "no path"),
        (Path("/dev/zero"), "at most 1048576 bytes"),
        (binary, "text in UTF-8"),
        (huge, "at most 1048576 bytes"),
    ):
        with pytest.raises(asl.InvalidInput, match=words):
            load_cluster(path)


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_text_makes_anything_but_a_cluster_or_a_clear_error(text: str) -> None:
    message = ""
    try:
        cluster = parse_cluster(text, where="file.yml", name="x")
    except asl.InvalidInput as error:
        message = str(error)
    else:
        assert cluster.replicas
    assert message.startswith("file.yml: " if message else "")
    assert len(message) < 2000


def test_a_message_stays_short_whatever_the_file_holds() -> None:
    doubling = "- &a [x, x]\n" + "".join(f"- &{b} [*{a}, *{a}]\n" for a, b in pairwise(LETTERS))
    for text in (doubling, "x" * 500_000, f"nodes: [{{address: a, {'g' * 1000}: 1}}]"):
        with pytest.raises(asl.InvalidInput) as caught:
            parse_cluster(text, where="file.yml", name="x")
        assert len(str(caught.value)) < 2000


def test_an_unknown_name_suggests_a_preset() -> None:
    with pytest.raises(asl.InvalidInput, match="did you mean 'emulated-4'"):
        load_cluster("emulated4")
    for name in ("", ".", "x" * 5000, "a\0b"):
        with pytest.raises(asl.InvalidInput, match="no preset and no file has this name"):
            load_cluster(name)


def test_a_file_s_errors_name_the_file_the_node_and_the_choices() -> None:
    text = "nodes: [{address: a}, {address: b, replicas: 2000}]\nlauncher: emulated"
    with pytest.raises(asl.InvalidInput) as caught:
        parse_cluster(text, where="file.yml", name="x")
    assert caught.value.where == "file.yml: node 2: node 'b'"
    assert caught.value.received == 2000


def test_the_first_node_leads_where_none_says_it_does() -> None:
    nodes = (Node("a"), Node("b"))
    assert [n.chief for n in ClusterSpec("c", nodes).nodes] == [True, False]
    assert ClusterSpec("c", nodes) == ClusterSpec("c", (Node("a", chief=True), Node("b")))


@pytest.mark.parametrize("name", cluster_names())
def test_presets_load_and_round_trip(name: str) -> None:
    cluster = load_cluster(name)
    assert cluster.name == name
    assert parse_cluster(dump_cluster(cluster), where="x", name="y") == cluster
    assert sum(n.chief for n in cluster.nodes) == 1


def test_the_presets_are_those_that_people_are_told_of() -> None:
    sizes = {n: (load_cluster(n).replicas, len(load_cluster(n).nodes)) for n in cluster_names()}
    assert sizes == {
        "cluster-a": (11, 11),
        "cluster-b": (16, 4),
        "local-2": (2, 1),
        "emulated-4": (4, 4),
        "emulated-hetero-4": (4, 4),
        "emulated-servers": (4, 6),
        "emulated-2x2": (4, 2),
        "emulated-a": (11, 11),
    }
    assert {n.up_gbps for n in load_cluster("cluster-a").nodes} == {40.0}
    assert {n.up_gbps for n in load_cluster("cluster-b").nodes} == {50.0}
    assert len({n.up_gbps for n in load_cluster("emulated-4").nodes}) == 1
    assert len({n.up_gbps for n in load_cluster("emulated-hetero-4").nodes}) == 2


names = st.from_regex(r"[a-h1-3][a-h1-3.-]{0,8}", fullmatch=True)
positive = st.floats(1e-3, 1e3) | st.just(math.inf)


@given(
    st.lists(
        st.builds(
            Node,
            name=names,
            replicas=st.integers(1, 3),
            up_gbps=positive,
            down_gbps=positive,
            latency_s=st.floats(0, 1),
            gpus=st.lists(st.integers(0, 7), unique=True, max_size=3).map(tuple),
            memory_gib=st.none() | st.floats(0.1, 100),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda n: n.name,
    ),
    st.sampled_from(["emulated", "virtual", "ssh"]),
    st.integers(1, 1 << 20),
)
def test_any_cluster_round_trips(nodes: list[Node], launcher: str, queue_bytes: int) -> None:
    options = {"queue_bytes": queue_bytes, "congestion_control": "bbr"} if launcher == "emulated" else {}
    ssh = {"g": {"username": "u", "port": 1, "shared_envs": {"A": "$A:/lib", "B": 2}}} if launcher == "ssh" else {}
    nodes = [replace(n, ssh="g" if ssh else None) for n in nodes]
    cluster = ClusterSpec("any", tuple(nodes), launcher, options, ssh)
    again = parse_cluster(dump_cluster(cluster), where="x", name="y")
    assert again == cluster
    assert again.hash == cluster.hash
