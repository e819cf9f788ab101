"""`autosync-lab ablate`."""

import argparse

from autosync_lab.cli.arguments import new_file, whole
from autosync_lab.cli.files import write_text
from autosync_lab.cli.interrupts import one_interrupt
from autosync_lab.cli.output import print_json, print_table, say

SUMMARY = "What each part of the method does: constraints, proposals, simulators, features, transfer."

DEFAULT_SEEDS = 3
DEFAULT_TRIALS = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument(
        "ablation",
        nargs="*",
        metavar="ABLATION",
        help="constraints, proposals, simulator, rankers, transfer or first-trials (default: all)",
    )
    parser.add_argument("--data", metavar="FOLDER", help="a data set of `collect` (default: the one that comes along)")
    parser.add_argument("--seeds", type=whole(2), default=DEFAULT_SEEDS, help="repetitions (%(default)s)")
    parser.add_argument(
        "--trials", type=whole(1), default=DEFAULT_TRIALS, help="trials of a search on a played cluster (%(default)s)"
    )
    parser.add_argument("--csv", metavar="FILE", type=new_file(), help="write the table to this file too")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.study.ablations import ABLATIONS, Settings, ablate, ablation_frame
    from autosync_lab.study.data_set import DataSet, shipped_data_set

    data_set = shipped_data_set() if arguments.data is None else DataSet.read(arguments.data)
    settings = Settings(data_set, range(arguments.seeds), arguments.trials, say)
    with one_interrupt():
        found = ablate(arguments.ablation or list(ABLATIONS), settings)
    if arguments.csv is not None:
        write_text(arguments.csv, ablation_frame(found).to_csv(index=False))
        say(f"Wrote {arguments.csv}")
    if arguments.json:
        print_json({"comparisons": [c.to_json() for c in found]})
        return 0
    rows = []
    for c in found:
        mean, low, high = c.difference
        holds = {True: "as in the paper", False: "opposite to the paper", None: ""}[c.holds]
        what = f"{c.change}{' (simulated)' if c.simulated else ''}"
        interval = f"{low:+.3f} to {high:+.3f}"
        rows.append((what, c.where, c.metric.split(":")[0], f"{mean:+.3f}", interval, c.verdict, holds))
    print_table(("change", "where", "metric", "adds", "95 % interval", "verdict", "paper"), rows, left=7)
    return 0
