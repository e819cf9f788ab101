"""What commands that simulate share."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autosync_lab.simulator import Calibration


def add_calibration(parser: argparse.ArgumentParser) -> None:
    """--calibration FILE."""
    parser.add_argument(
        "--calibration",
        metavar="FILE",
        help="the cluster's constants, from `autosync-lab calibrate` (default: what is typical for its launcher)",
    )


def read_calibration(arguments: argparse.Namespace) -> "Calibration | None":
    """The calibration that was asked for; None for the typical one.

    Raises
    ------
    InvalidInput
        If the file is no calibration.
    """
    from autosync_lab.simulator import Calibration

    return None if arguments.calibration is None else Calibration.read(arguments.calibration)
