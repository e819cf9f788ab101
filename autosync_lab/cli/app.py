"""The parser of all commands, and what a command's end means for the shell.

A command is a module with `SUMMARY` (one sentence), `add_arguments(parser)` and `run(arguments) -> int`. Its imports
are light: what is heavy is imported inside `run`, so that help and mistakes are answered at once.

Exit codes: 0 ok, 1 failed, 2 bad input, 130 stopped by Ctrl-C. Messages go to stderr; with --json, stdout holds one
JSON document and nothing else.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol

import autosync_lab
from autosync_lab.cli import (
    ablate,
    bench,
    calibrate,
    clusters,
    collect,
    demo,
    doctor,
    export,
    import_autodist,
    measure,
    models,
    profile,
    race,
    rank,
    search,
    simulate,
    space,
    strategies,
    trials,
)
from autosync_lab.cli.output import say
from autosync_lab.errors import AutoSyncLabError, InvalidInput

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


class Command(Protocol):
    """A module of this package that is a command."""

    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare its arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; the exit code."""


COMMANDS: dict[str, Command] = {
    "models": models,
    "clusters": clusters,
    "strategies": strategies,
    "space": space,
    "simulate": simulate,
    "measure": measure,
    "race": race,
    "rank": rank,
    "search": search,
    "calibrate": calibrate,
    "collect": collect,
    "demo": demo,
    "profile": profile,
    "trials": trials,
    "export": export,
    "import-autodist": import_autodist,
    "ablate": ablate,
    "bench": bench,
    "doctor": doctor,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of this process if None.

    Returns
    -------
    int
        Exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character is no reason to stop.
            stream.reconfigure(errors="replace")
    try:
        arguments = _parser().parse_args(argv)
        if arguments.command is None:
            raise InvalidInput("which command?", valid=COMMANDS)
        code = COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
        return code
    except InvalidInput as error:
        say(f"autosync-lab: error: {error}")
        return BAD_INPUT
    except AutoSyncLabError as error:
        say(f"autosync-lab: error: {error}")
        return FAILED
    except KeyboardInterrupt:
        say("autosync-lab: stopped")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has gone (`| head`); Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="autosync-lab",
        description="Find, explain and run gradient-synchronization strategies for data-parallel TensorFlow training.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"autosync-lab {autosync_lab.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        child = commands.add_parser(name, help=command.SUMMARY, description=command.SUMMARY, allow_abbrev=False)
        child.add_argument("--json", action="store_true", help="write one JSON document to stdout, and nothing else")
        command.add_arguments(child)
    return parser
