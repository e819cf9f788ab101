"""`autosync-lab ablate`."""

import argparse

from autosync_lab.cli.arguments import new_file, whole
from autosync_lab.cli.files import write_text
from autosync_lab.cli.interrupts import one_interrupt
from autosync_lab.cli.output import message_console, print_json, print_table, say
from autosync_lab.cli.progress import PassingBar

SUMMARY = "What each part of the method does: constraints, proposals, simulators, features, transfer."

DEFAULT_SEEDS = 6
DEFAULT_TRIALS = 24
DEFAULT_SPLITS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument(
        "ablation",
        nargs="*",
        metavar="ABLATION",
        help="constraints, proposals, simulator, rankers, features, transfer or first-trials (default: all, which takes"
        " minutes)",
    )
    parser.add_argument("--data", metavar="FOLDER", help="a data set of `collect` (default: the one that comes along)")
    parser.add_argument(
        "--seeds", type=whole(2), default=DEFAULT_SEEDS, help="played clusters, and searches on them (%(default)s)"
    )
    parser.add_argument(
        "--trials", type=whole(1), default=DEFAULT_TRIALS, help="trials of a search on a played cluster (%(default)s)"
    )
    parser.add_argument(
        "--splits",
        type=whole(1),
        default=DEFAULT_SPLITS,
        help="splits of each pair's measured trials into those to learn from and those to rank (%(default)s)",
    )
    parser.add_argument("--csv", metavar="FILE", type=new_file(), help="write the table to this file too")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.study.ablations import ABLATIONS, Settings, ablate, ablation_frame, check_ablations
    from autosync_lab.study.data_set import DataSet, shipped_data_set

    names = arguments.ablation or list(ABLATIONS)
    check_ablations(names)
    data_set = shipped_data_set() if arguments.data is None else DataSet.read(arguments.data)
    with one_interrupt(), _Bar() as bar:
        settings = Settings(data_set, range(arguments.seeds), arguments.trials, arguments.splits, bar)
        found = ablate(names, settings)
    if arguments.csv is not None:
        write_text(arguments.csv, ablation_frame(found).to_csv(index=False))
        say(f"Wrote {arguments.csv}")
    if arguments.json:
        print_json({"comparisons": [c.to_json() for c in found]})
        return 0
    rows = []
    for c in found:
        mean, low, high = c.difference
        what = f"{c.change}{' (simulated)' if c.simulated else ''}"
        metric = c.metric.split(":")[0] + ("" if c.larger_is_better else " (fewer is better)")
        adds = (f"{mean:+.3f}", f"{low:+.3f} to {high:+.3f}")
        rows.append((what, c.where, metric, *adds, c.verdict, c.paper, c.holds_in_words))
    columns = ("change", "where", "metric", "adds", "95 % interval", "here", "the paper reports", "effect holds")
    print_table(columns, rows, left=len(columns))
    return 0


class _Bar(PassingBar):
    """What is done, line by line; and on a terminal a bar with the time left."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

        super().__init__(BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("left"), TimeRemainingColumn())
        self._task = self._bar.add_task("", total=1.0)

    def __call__(self, what: str, share: float) -> None:
        """Something begins, with that share of all behind it."""
        message_console().print(what, soft_wrap=True)
        self._bar.update(self._task, completed=share)
