"""Ctrl-C while a model is trained."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def orderly_interrupt() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C only be remembered: the function that this gives says whether there was one.

    A second one raises KeyboardInterrupt at once. Only the main thread is ever interrupted; in others nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    received = 0

    def handle(*_: object) -> None:
        nonlocal received
        received += 1
        if received > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: received > 0
    finally:
        signal.signal(signal.SIGINT, before)
