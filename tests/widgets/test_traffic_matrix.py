import pytest

from autosync_lab.cluster import ClusterSpec, Node, load_cluster
from autosync_lab.model import ModelSpec, Variable, load_model
from autosync_lab.strategy import build_strategy, link_time_s
from autosync_widgets.figures.traffic_matrix import (
    MOST_TEXTS,
    NodeLoad,
    TrafficMatrix,
    draw_traffic,
    traffic,
    traffic_figure,
    traffic_sentence,
)

MODEL = ModelSpec("m", (Variable("v", (250,)),), 4)
PAIR = ClusterSpec("pair", (Node("a", 1, 8e-6, 8e-6), Node("b", 1, 4e-6, 8e-6)))
"""Links of 1000 and 500 bytes per second."""


def test_one_server_of_1000_bytes_between_two_nodes() -> None:
    assert traffic(MODEL, PAIR, build_strategy("ps", MODEL, PAIR), "ps") == TrafficMatrix(
        "ps",
        ((0.0, 1000.0), (1000.0, 0.0)),
        (NodeLoad("a", 1000.0, 1000.0, 1.0, 1.0), NodeLoad("b", 1000.0, 1000.0, 2.0, 1.0)),
        2.0,
    )


def test_the_sentence_names_the_busiest_link() -> None:
    text = traffic_sentence(traffic(MODEL, PAIR, build_strategy("ps", MODEL, PAIR), "ps"))
    assert text == (
        "ps: 2 kB cross the links in a step; the busiest is that of b, which sends 1 kB. "
        "At full speed the links need 2 s."
    )
    alone = load_cluster("local-2")
    assert "nothing crosses a link" in traffic_sentence(traffic(MODEL, alone, build_strategy("ps", MODEL, alone), "ps"))
    free = ClusterSpec("free", (Node("a"), Node("b")))
    assert "no link is limited" in traffic_sentence(traffic(MODEL, free, build_strategy("ps", MODEL, free), "ps"))


@pytest.mark.parametrize("name", ["ps", "partitioned-ps", "all-reduce"])
def test_rows_and_columns_sum_to_what_nodes_send_and_receive(name: str) -> None:
    model, cluster = load_model("ncf-small"), load_cluster("emulated-hetero-4")
    strategy = build_strategy(name, model, cluster)
    data = traffic(model, cluster, strategy, name)
    assert [sum(row) for row in data.nbytes] == pytest.approx([load.sent_nbytes for load in data.loads])
    assert [sum(c) for c in zip(*data.nbytes, strict=True)] == pytest.approx([x.received_nbytes for x in data.loads])
    assert data.link_time_s == link_time_s(model, cluster, strategy)
    assert data.busiest.busy_s == max(load.busy_s for load in data.loads)


def test_two_matrices_share_one_scale_and_empty_cells_stay_empty() -> None:
    model, cluster = load_model("vgg-mini"), load_cluster("emulated-4")
    both = [traffic(model, cluster, build_strategy(n, model, cluster), n) for n in ("ps", "all-reduce")]
    spec = draw_traffic(both)
    one, other = spec["data"]
    assert one["zmax"] == other["zmax"] == max(max(map(max, m.nbytes)) for m in both)
    assert [one["showscale"], other["showscale"]] == [False, True]
    assert one["z"][1][2] is None
    assert one["text"][1][2] == ""
    assert other["xaxis"] == "x2"
    assert spec["layout"]["xaxis"]["domain"][1] < spec["layout"]["xaxis2"]["domain"][0]


def test_many_nodes_have_no_numbers_in_their_cells() -> None:
    model, cluster = load_model("vgg-mini"), load_cluster("cluster-a")
    assert len(cluster.nodes) > MOST_TEXTS
    figure = traffic_figure(model, cluster, {"ps": build_strategy("ps", model, cluster)})
    assert figure.data[0].text is None
    assert len(figure.data[0].z) == len(cluster.nodes)
    assert draw_traffic([])["data"] == []
