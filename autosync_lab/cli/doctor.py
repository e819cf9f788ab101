"""`autosync-lab doctor`."""

import argparse

from autosync_lab.cli.output import plural, print_json, print_table, say

SUMMARY = "Check what works on this machine, and say how to mend what does not."

_MARKS = {"ok": "ok", "warning": "warning", "missing": "MISSING"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code: 1 if something that measuring needs is missing."""
    from autosync_lab.doctor import run_checks

    say("Checking; this takes some ten seconds ...")
    checks = run_checks()
    missing = [check for check in checks if check.status == "missing"]
    if arguments.json:
        print_json({"ok": not missing, "checks": [check.to_json() for check in checks]})
        return 1 if missing else 0
    print_table(
        ("check", "", "found"),
        [(check.name, _MARKS[check.status], check.detail) for check in checks],
        left=3,
    )
    for check in checks:
        if check.remedy:
            print(f"\n{check.name}: {check.remedy}")
    verdict = f"{plural(len(missing), 'thing')} missing" if missing else "everything that measuring needs is here"
    print(f"\nOn this machine, {verdict}.")
    return 1 if missing else 0
