"""Cluster files: AutoDist's resource specs and our own; each mistake is one clear error."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import autosync_lab as asl
from autosync_lab.cluster import ClusterSpec, Node, cluster_names, dump_cluster, load_cluster
from autosync_lab.cluster.yaml_file import parse_cluster

SPECS = Path(__file__).parents[1] / "data" / "resource_specs"


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
        (tmp_path, "cannot be read"),
        (tmp_path / "no.yml", "cannot be read"),
        (binary, "text"),
        (huge, "1 MiB"),
    ):
        with pytest.raises(asl.InvalidInput, match=words):
            load_cluster(path)


def test_an_unknown_name_suggests_a_preset() -> None:
    with pytest.raises(asl.InvalidInput, match="did you mean 'emulated-4'"):
        load_cluster("emulated4")


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


names = st.text("abcdefgh-123", min_size=1, max_size=8)
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
    st.sampled_from(["emulated", "virtual"]),
)
def test_any_cluster_round_trips(nodes: list[Node], launcher: str) -> None:
    import dataclasses

    nodes = [dataclasses.replace(nodes[0], chief=True), *nodes[1:]]
    cluster = ClusterSpec("any", tuple(nodes), launcher)
    again = parse_cluster(dump_cluster(cluster), where="x", name="y")
    assert again == cluster
    assert again.hash == cluster.hash
