"""`autosync-lab space MODEL CLUSTER`."""

import argparse
import math
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import add_model_and_cluster
from autosync_lab.cli.output import print_json, print_table

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.model import ModelSpec
    from autosync_lab.space import StrategySpace

SUMMARY = "How many strategies there are, and what each constraint prunes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)
    add_space_settings(parser)


def add_space_settings(parser: argparse.ArgumentParser) -> None:
    """Which space a command works on."""
    parser.add_argument(
        "--constraint",
        metavar="NAME",
        action="append",
        help="constrain by this rule; repeat for several, `none` for none (default: all but load-balance-softmax)",
    )
    parser.add_argument("--lossy", action="store_true", help="allow compressors that lose bits")
    parser.add_argument("--asynchronous", action="store_true", help="allow asynchronous strategies")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model

    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    space = chosen_space(arguments, model, cluster)
    report = space.report()
    if arguments.json:
        steps = [{k: _finite(v) for k, v in row.items()} for row in report.to_rows()]
        size = {"log10_size": _finite(report.log10_size)}
        print_json({"model": model.name, "cluster": cluster.name} | size | {"rows": steps})
        return 0
    rows = [("(valid)", str(report.valid), "everything that runs")]
    rows += [(step.constraint, str(step.after), step.reason) for step in report]
    print_table(
        ("constraint", "log10 size after it", "why"),
        rows,
        title=f"Strategies for {model.name} on {cluster.name}: 10 to the power of {report.size}",
        words=("why",),
    )
    return 0


def chosen_space(arguments: argparse.Namespace, model: "ModelSpec", cluster: "ClusterSpec") -> "StrategySpace":
    """The space that a command line asks for.

    Raises
    ------
    InvalidInput
        If a constraint is unknown, or nothing is left for a variable.
    """
    from autosync_lab.errors import InvalidInput
    from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace

    names = arguments.constraint
    if names is None:
        names = list(DEFAULT_CONSTRAINTS)
    elif "none" in names:
        if names != ["none"]:
            raise InvalidInput("`none` stands alone", where="--constraint", received=", ".join(names))
        names = []
    space = StrategySpace(model, cluster, lossy=arguments.lossy, asynchronous=arguments.asynchronous)
    return space.constrain(names)


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
