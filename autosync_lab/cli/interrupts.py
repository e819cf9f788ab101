"""Ctrl-C while a cluster is running."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from autosync_lab.cli.output import say


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) end the work in an orderly way, undisturbed by a second one.

    The first raises KeyboardInterrupt, whose way out closes the cluster. A second one is answered with what is going
    on, because ending that would leave processes and namespaces behind; a third one ends even that.
    """
    received = 0

    def handle(*_: object) -> None:
        nonlocal received
        received += 1
        if received == 2:
            say("autosync-lab: closing the cluster; once more to leave without")
        else:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
