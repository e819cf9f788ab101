"""`autosync-lab export STRATEGY`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import add_store, new_file
from autosync_lab.cli.choice import choose_strategy
from autosync_lab.cli.files import write_bytes, write_text
from autosync_lab.cli.output import say
from autosync_lab.errors import InvalidInput, InvalidStrategy

if TYPE_CHECKING:
    from autosync_lab.strategy import Strategy

SUMMARY = "Write a strategy in a form that other programs read."

FORMATS = ("json", "autodist", "horovod")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument(
        "strategy",
        metavar="STRATEGY",
        help="a strategy file; a builder's name, with --model and --cluster; or an id, with --store",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="json",
        help="json; autodist (its protobuf, with --model, --cluster and --output); horovod (a Python module for Keras, "
        "all-reduced strategies only) (%(default)s)",
    )
    parser.add_argument("--model", metavar="MODEL", help="the model that the strategy is for")
    parser.add_argument("--cluster", metavar="CLUSTER", help="the cluster that the strategy is for")
    add_store(parser)
    parser.add_argument("--output", metavar="FILE", type=new_file(), help="write to this file instead of stdout")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    if arguments.format == "autodist":
        return _write_autodist(arguments)
    strategy = _strategy(arguments)
    if arguments.format == "horovod":
        from autosync_lab.strategy import horovod_script

        text = horovod_script(strategy, arguments.output.stem) if arguments.output else horovod_script(strategy)
    else:
        text = strategy.dumps() + "\n"
    if arguments.output is None:
        print(text, end="")
    else:
        write_text(arguments.output, text)
        say(f"Wrote {arguments.output}")
    return 0


def _write_autodist(arguments: argparse.Namespace) -> int:
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.strategy import dump_autodist_strategy

    missing = [f"--{name}" for name in ("model", "cluster", "output") if getattr(arguments, name) is None]
    if missing:
        raise InvalidInput(
            "AutoDist's files name axes and devices, and are no text: give --model, --cluster and --output",
            received=f"no {' and no '.join(missing)}",
        )
    data = dump_autodist_strategy(_strategy(arguments), load_model(arguments.model), load_cluster(arguments.cluster))
    write_bytes(arguments.output, data)
    say(f"Wrote {arguments.output}")
    return 0


def _strategy(arguments: argparse.Namespace) -> "Strategy":
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.strategy import builder_names

    if arguments.store is not None:
        return _stored(arguments.strategy, arguments.store)
    if arguments.model is not None and arguments.cluster is not None:
        _, strategy = choose_strategy(arguments.strategy, load_model(arguments.model), load_cluster(arguments.cluster))
        return strategy
    if arguments.strategy in builder_names():
        raise InvalidInput("a builder's strategy needs --model and --cluster", received=arguments.strategy)
    return _read(Path(arguments.strategy))


def _read(path: Path) -> "Strategy":
    from autosync_lab.strategy import builder_names, read_strategy

    if not path.is_file():
        raise InvalidStrategy("neither a strategy file nor a builder", received=str(path), valid=builder_names())
    return read_strategy(path)


def _stored(prefix: str, path: str) -> "Strategy":
    from autosync_lab.study import TrialStore

    with TrialStore.open_readonly(path) as store:
        trials = [t for t in store.trials() if t.strategy is not None]
    found = {
        t.strategy.id: t.strategy
        for t in trials
        if t.strategy is not None and (t.strategy.id.startswith(prefix) or t.id.startswith(prefix))
    }
    if len(found) != 1 or not prefix:
        raise InvalidInput(
            f"{len(found)} strategies of this store have an id, or a trial's id, that starts so",
            received=prefix,
        )
    return next(iter(found.values()))
