"""`autosync-lab calibrate CLUSTER`."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import new_file
from autosync_lab.cli.files import write_text
from autosync_lab.cli.measuring import opened
from autosync_lab.cli.output import message_console, print_json, print_table, say, seconds
from autosync_lab.errors import InvalidInput

if TYPE_CHECKING:
    from autosync_lab.runtime import Trial

SUMMARY = "Measure what bytes, messages and operations cost on a cluster, for the cost model."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument(
        "cluster", metavar="CLUSTER", help="a cluster's preset name (see `autosync-lab clusters`) or file"
    )
    parser.add_argument("--output", metavar="FILE", type=new_file(".json"), help="write the calibration to this file")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.simulator import Calibration
    from autosync_lab.simulator.calibrate import fit_calibration, probe

    cluster = load_cluster(arguments.cluster)
    if cluster.launcher == "virtual":
        raise InvalidInput(
            "a virtual cluster runs nothing that could be measured; `simulate` takes what is typical",
            received=cluster.name,
        )
    with opened(cluster) as runner:
        trials = probe(runner, _tell)
    say("Fitting ...")
    calibration, error = fit_calibration(trials, cluster)
    typical = asdict(Calibration.typical(cluster))
    if arguments.json:
        print_json(calibration.to_json() | {"median_error": error, "trials": len(trials)})
    else:
        print_table(
            ("constant", "calibrated", "typical"),
            [(name, f"{value:.3g}", f"{typical[name]:.3g}") for name, value in asdict(calibration).items()],
            title=f"{cluster.name}: median error {error:.1%} over the {len(trials)} trials of the probe",
        )
    if arguments.output is not None:
        write_text(arguments.output, json.dumps(calibration.to_json(), indent=1))
        say(f"Wrote {arguments.output}")
    return 0


def _tell(number: int, total: int, trial: "Trial") -> None:
    how = seconds(trial.step_time_s) if trial.status == "ok" else f"{trial.status} ({trial.stage})"
    message_console().print(f"{number}/{total} {trial.model} {trial.label}: {how}", soft_wrap=True)
