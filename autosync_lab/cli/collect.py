"""`autosync-lab collect FOLDER`."""

import argparse
import math

from autosync_lab.cli.arguments import whole
from autosync_lab.cli.interrupts import one_interrupt
from autosync_lab.cli.output import message_console, print_json, print_table, say, seconds
from autosync_lab.cli.progress import PassingBar

SUMMARY = "Measure a data set of random and searched strategies; stop it whenever you like, the same line goes on."

DEFAULT_RANDOM = 100
DEFAULT_SEARCHED = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("folder", metavar="FOLDER", help="where the data set is, or will be")
    parser.add_argument("--model", action="append", metavar="MODEL", help="one of the models; repeat for several")
    parser.add_argument("--cluster", action="append", metavar="CLUSTER", help="one of the clusters; repeat for several")
    parser.add_argument(
        "--random", type=whole(0), default=DEFAULT_RANDOM, help="random strategies of each pair (%(default)s)"
    )
    parser.add_argument(
        "--searched", type=whole(0), default=DEFAULT_SEARCHED, help="strategies that a search proposes (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cli.measuring import require_runnable
    from autosync_lab.cluster import load_cluster
    from autosync_lab.errors import InvalidInput
    from autosync_lab.model import load_model
    from autosync_lab.study.data_set.collect import Collection, collect
    from autosync_lab.study.data_set.plan import CLUSTERS, MODELS

    models = [load_model(name) for name in dict.fromkeys(arguments.model or MODELS)]
    clusters = [load_cluster(name) for name in dict.fromkeys(arguments.cluster or CLUSTERS)]
    for model in models:
        require_runnable(model)
    for cluster in clusters:
        if cluster.launcher == "virtual":
            raise InvalidInput("a data set is measured, and a virtual cluster is simulated", received=cluster.name)
    what = Collection(models, clusters, arguments.random, arguments.searched)
    try:
        with one_interrupt(), _Progress() as progress:
            data_set = collect(what, arguments.folder, progress)
    except KeyboardInterrupt:
        say(f"Stopped; what was measured is in {arguments.folder}. The same command goes on.")
        raise
    counts = [(m, c, len(data_set.of(m, c))) for m, c in data_set.pairs]
    if arguments.json:
        pairs = [{"model": m, "cluster": c, "trials": n} for m, c, n in counts]
        print_json({"folder": arguments.folder, "trials": len(data_set.trials), "pairs": pairs})
    else:
        print_table(("model", "cluster", "trials"), [(m, c, str(n)) for m, c, n in counts], left=2)
        say(f"Wrote {len(data_set.trials)} trials to {arguments.folder}")
    return 0


class _Progress(PassingBar):
    """A bar with the time left on a terminal, a line per trial anywhere."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn

        super().__init__(
            BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), "left", TimeRemainingColumn()
        )
        self._total = self._number = 0

    def planned(self, trials: int) -> None:
        """So many trials are to come."""
        self._total = trials
        self._task = self._bar.add_task("", total=trials)

    def calibrating(self, cluster: str) -> None:
        """A cluster's constants are being measured."""
        message_console().print(f"Calibrating {cluster} ...", soft_wrap=True)

    def ended(self, pair: str, label: str, step_time_s: float) -> None:
        """A trial has ended."""
        self._number += 1
        self._bar.update(self._task, completed=self._number)
        how = "failed" if math.isnan(step_time_s) else seconds(step_time_s)
        message_console().print(f"{self._number}/{self._total} {pair} {label}: {how}", soft_wrap=True, markup=False)
