"""One run of a study at a time, whichever process it is in; the end of a process, however it came, ends its claim."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autosync_lab.content_hash import content_hash
from autosync_lab.errors import InvalidInput, StoreUnavailable

_LOOK_S = 0.5
"""`is_running` holds the lock for an instant, so a run asks for this long before it says that there is another one."""


def lock_path(store: Path, study: str) -> Path:
    """The file beside a store that a run of a study holds locked."""
    return store.with_name(f"{store.name}-{content_hash(study, 8)}.lock")


@contextmanager
def run_lock(store: Path | None, study: str) -> Iterator[None]:
    """Hold a study's lock; a store in memory needs none.

    Raises
    ------
    InvalidInput
        If the study is running elsewhere.
    StoreUnavailable
        If the system refuses.
    """
    if store is None:
        yield
        return
    path = lock_path(store, study)
    try:
        descriptor = _acquire(path, study)
    except OSError as error:
        raise StoreUnavailable(str(store), str(error)) from error
    try:
        yield
    finally:
        # Removed while it is locked, so nobody can hold a lock on a file that has gone.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def is_running(store: Path | None, study: str) -> bool:
    """True if some process runs the study now."""
    if store is None:
        return False
    try:
        descriptor = os.open(lock_path(store, study), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquire(path: Path, study: str) -> int:
    give_up = time.monotonic() + _LOOK_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        except BlockingIOError:
            if time.monotonic() > give_up:
                os.close(descriptor)
                raise InvalidInput("another process is running this study", received=study) from None
        except FileNotFoundError:
            # Removed between two looks, by the run that held it.
            pass
        os.close(descriptor)
        time.sleep(0.01)
