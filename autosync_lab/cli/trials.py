"""`autosync-lab trials STORE`."""

import argparse

from autosync_lab.cli.arguments import new_file
from autosync_lab.cli.files import write_text
from autosync_lab.cli.output import print_json, print_table, say, seconds, times

SUMMARY = "List the trials of a store."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("store", metavar="STORE", help="the file that --store named")
    parser.add_argument(
        "--csv", metavar="FILE", type=new_file(), help="write them to this file as comma-separated values"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.study import TrialStore
    from autosync_lab.study.summary import ratio

    with TrialStore.open_readonly(arguments.store) as store:
        if arguments.csv is not None:
            frame = store.to_frame()
            write_text(arguments.csv, frame.to_csv(index=False))
            say(f"Wrote {len(frame)} trials to {arguments.csv}")
        trials = store.trials()
    if arguments.json:
        print_json({"store": arguments.store, "trials": [t.to_json() for t in trials]})
        return 0
    if arguments.csv is not None:
        return 0
    print_table(
        ("trial", "created (UTC)", "strategy", "model", "cluster", "status", "step time", "x bound"),
        [
            (
                t.id[:8],
                t.created[:19].replace("T", " "),
                t.label,
                t.model,
                t.cluster,
                _status(t.status, t.stage, t.simulated),
                seconds(t.step_time_s),
                times(ratio(t.step_time_s, t.bound_s)),
            )
            for t in trials
        ],
        left=6,
    )
    return 0


def _status(status: str, stage: str, simulated: bool) -> str:
    text = status if status == "ok" else f"{status} ({stage})"
    return f"{text}, simulated" if simulated else text
