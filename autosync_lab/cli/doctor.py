"""`autosync-lab doctor [CLUSTER]`."""

import argparse

from autosync_lab.cli.output import plural, print_json, print_table, say

SUMMARY = "Check what works on this machine and on a cluster's nodes, and say how to mend what does not."

_MARKS = {"ok": "ok", "warning": "warning", "missing": "MISSING"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument(
        "cluster",
        metavar="CLUSTER",
        nargs="?",
        help="also check the nodes of this cluster: a preset name (see `autosync-lab clusters`) or file",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code: 1 if something that measuring needs is missing."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.doctor import run_checks, run_cluster_checks

    cluster = load_cluster(arguments.cluster) if arguments.cluster is not None else None
    say("Checking; this takes some ten seconds ...")
    checks = run_checks()
    if cluster is not None:
        checks += run_cluster_checks(cluster)
    missing = [check for check in checks if check.status == "missing"]
    if arguments.json:
        print_json({"ok": not missing, "checks": [check.to_json() for check in checks]})
        return 1 if missing else 0
    print_table(
        ("check", "", "found"),
        [(check.name, _MARKS[check.status], check.detail) for check in checks],
        left=3,
    )
    for check in checks:
        if check.remedy:
            print(f"\n{check.name}: {check.remedy}")
    verdict = f"{plural(len(missing), 'thing')} missing" if missing else "everything that measuring needs is here"
    print(f"\nOn {'this machine' if cluster is None else f'this machine and {cluster.name}'}, {verdict}.")
    return 1 if missing else 0
