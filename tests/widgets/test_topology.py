import math

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_widgets.figures.topology import (
    MOST_NODES,
    NARROWEST_PX,
    WIDEST_PX,
    NodeColumn,
    Topology,
    draw_topology,
    topology,
    topology_figure,
)

MIXED = ClusterSpec("mixed", (Node("a", 2, 4, 4, 0.001), Node("b", 1, 1, 2), Node("server", 0, 4, 4)))


def links(data: Topology) -> list[float]:
    return [s["line"]["width"] for s in draw_topology(data)["layout"]["shapes"] if s["type"] == "line"]


def test_every_node_is_a_column() -> None:
    assert topology(MIXED) == Topology(
        "mixed",
        (
            NodeColumn(("a",), 2, 4, 4, 0.001, True),
            NodeColumn(("b",), 1, 1, 2, 0.0, False),
            NodeColumn(("server",), 0, 4, 4, 0.0, False),
        ),
    )


def test_links_are_the_thicker_the_more_they_carry_and_servers_look_different() -> None:
    wide, narrow, server = links(topology(MIXED))
    assert NARROWEST_PX < narrow < wide == server == WIDEST_PX
    nodes = draw_topology(topology(MIXED))["data"][0]
    assert nodes["text"] == ["2", "1", ""]
    assert nodes["marker"]["symbol"] == ["circle", "circle", "square"]


def test_text_says_both_ways_latency_and_roles() -> None:
    texts = " | ".join(a["text"] for a in draw_topology(topology(MIXED))["layout"]["annotations"])
    assert "↑ 1 Gbit/s<br>↓ 2 Gbit/s" in texts
    assert "1 ms" in texts
    assert "server only" in texts
    assert "chief" in texts


def test_many_nodes_that_are_alike_are_drawn_as_one() -> None:
    nodes = (*(Node(f"n{i}", 1, 10, 10) for i in range(MOST_NODES)), Node("slow", 1, 1, 1))
    alike, slow = topology(ClusterSpec("many", nodes)).columns
    assert alike.names == tuple(f"n{i}" for i in range(MOST_NODES))
    assert (alike.chief, slow.names, slow.chief) == (True, ("slow",), False)
    assert len(topology(ClusterSpec("few", nodes[:MOST_NODES])).columns) == MOST_NODES


def test_one_node_has_no_link_and_unlimited_links_are_dotted() -> None:
    assert links(topology(load_cluster("local-2"))) == []
    free = ClusterSpec("free", (Node("a"), Node("b", 1, 1, 1)))
    shapes = draw_topology(topology(free))["layout"]["shapes"]
    assert [s["line"].get("dash") for s in shapes if s["type"] == "line"] == ["dot", "solid"]
    assert math.isinf(topology(free).columns[0].slower_gbps)


def test_the_figure_stands_alone() -> None:
    assert topology_figure(MIXED).layout.title.text == "mixed"
