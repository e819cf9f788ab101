"""`autosync-lab strategies MODEL CLUSTER`."""

import argparse
from typing import TYPE_CHECKING, Any

from autosync_lab.cli.arguments import add_model_and_cluster
from autosync_lab.cli.output import megabytes, print_json, print_table, say, seconds, times
from autosync_lab.errors import InvalidStrategy

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.model import ModelSpec

SUMMARY = "List the builders, with what each one's strategy sends for a model on a cluster."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import bandwidth_bound, load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.strategy import builder_names

    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    bounds = {lossless: bandwidth_bound(model, cluster, lossless=lossless) for lossless in (True, False)}
    rows = []
    for name in builder_names():
        try:
            rows.append(_row(name, model, cluster, bounds))
        except InvalidStrategy as error:
            say(f"Left out {name}: {error}")
    if arguments.json:
        print_json({"model": model.name, "cluster": cluster.name, "bound_s": bounds[True], "strategies": rows})
        return 0
    print_table(
        ("strategy", "what it does", "own bound", "x bound", "MB sent", "MB received"),
        [
            (
                row["name"] if row["lossless"] else f"{row['name']} (lossy)",
                row["sentence"],
                seconds(row["own_bound_s"]),
                times(row["over_bound"]),
                megabytes(max(row["bytes_sent"].values())),
                megabytes(max(row["bytes_received"].values())),
            )
            for row in rows
        ],
        title=f"{model.name} on {cluster.name}: bandwidth bound {seconds(bounds[True])} per step",
        left=2,
    )
    say("Own bound: what the busiest link needs for this strategy. MB: the busiest node's, per step.")
    return 0


def _row(name: str, model: "ModelSpec", cluster: "ClusterSpec", bounds: dict[bool, float]) -> dict[str, Any]:
    from autosync_lab.strategy import build_strategy, builder_card, link_time_s, node_traffic
    from autosync_lab.study.summary import ratio

    card, strategy = builder_card(name), build_strategy(name, model, cluster)
    sent, received = node_traffic(model, cluster, strategy)
    own_bound_s = link_time_s(model, cluster, strategy)
    names = [node.name for node in cluster.nodes]
    return {
        "name": name,
        "sentence": card.sentence,
        "source": card.source,
        "lossless": strategy.lossless,
        "strategy_id": strategy.id,
        "own_bound_s": own_bound_s,
        "over_bound": ratio(own_bound_s, bounds[strategy.lossless]),
        "bytes_sent": dict(zip(names, sent.tolist(), strict=True)),
        "bytes_received": dict(zip(names, received.tolist(), strict=True)),
    }
