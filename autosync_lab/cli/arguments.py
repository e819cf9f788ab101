"""Arguments that several commands share."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

DEFAULT_STEPS = 10
DEFAULT_WARMUP = 2


def add_model_and_cluster(parser: argparse.ArgumentParser) -> None:
    """MODEL and CLUSTER."""
    parser.add_argument("model", metavar="MODEL", help="a model's catalog name (see `autosync-lab models`) or file")
    parser.add_argument(
        "cluster", metavar="CLUSTER", help="a cluster's preset name (see `autosync-lab clusters`) or file"
    )


def add_series_settings(parser: argparse.ArgumentParser) -> None:
    """How many trials and steps a command measures, and where it keeps them."""
    parser.add_argument("--steps", type=whole(1), default=DEFAULT_STEPS, help="timed steps per trial (%(default)s)")
    parser.add_argument(
        "--warmup", type=whole(0), default=DEFAULT_WARMUP, help="steps before them that are not timed (%(default)s)"
    )
    parser.add_argument("--repeat", type=whole(1), default=1, help="trials per strategy, in turns (%(default)s)")
    add_store(parser)


def add_training_settings(parser: argparse.ArgumentParser) -> None:
    """How every trial trains."""
    parser.add_argument("--optimizer", default="sgd", help="sgd, momentum, adam or adagrad (%(default)s)")
    parser.add_argument("--learning-rate", type=rate, default=0.01, help="%(default)s")
    parser.add_argument("--seed", type=whole(0), default=0, help="%(default)s")


def add_store(parser: argparse.ArgumentParser) -> None:
    """--store FILE."""
    parser.add_argument("--store", metavar="FILE", help="keep every trial in this file as it ends (SQLite)")


def whole(least: int) -> Callable[[str], int]:
    """An argument type: a whole number, `least` or more."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(f"a whole number, {least} or more (received {text!r})")
        return value

    return number


def rate(text: str) -> float:
    """An argument type: a finite number, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"a number, 0 or more (received {text!r})")
    return value


def new_file(*endings: str) -> Callable[[str], Path]:
    """An argument type: a file to write, in a folder that exists, with one of `endings` (any, if none is given)."""

    def path(text: str) -> Path:
        value = Path(text)
        if endings and value.suffix not in endings:
            raise argparse.ArgumentTypeError(f"a file that ends in {', '.join(endings)} (received {text!r})")
        if value.is_dir() or not value.absolute().parent.is_dir():
            raise argparse.ArgumentTypeError(f"a file in a folder that exists (received {text!r})")
        return value

    return path
