"""`autosync-lab profile MODEL CLUSTER`."""

import argparse

from autosync_lab.cli.arguments import add_model_and_cluster
from autosync_lab.cli.measuring import opened, require_runnable
from autosync_lab.cli.output import print_json, print_table, seconds

SUMMARY = "Measure one replica's compute time, and when each gradient is ready."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model

    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    require_runnable(model)
    with opened(cluster) as runner:
        profile = runner.profile(model)
    ready = [(v.name, at) for v, at in zip(model.variables, profile.ready_s, strict=True)]
    if arguments.json:
        print_json(
            {
                "model": model.name,
                "cluster": cluster.name,
                "compute_s": profile.compute_s,
                "ready": [{"variable": name, "ready_s": at} for name, at in ready],
            }
        )
        return 0
    print_table(
        ("variable", "gradient ready after"),
        [(name, seconds(at)) for name, at in ready],
        title=f"{model.name} on one replica of {cluster.name}: {seconds(profile.compute_s)} of compute per step",
    )
    return 0
