"""The command line: `autosync-lab COMMAND ...`; see `autosync-lab --help`."""

from autosync_lab.cli.app import main

__all__ = ["main"]
