"""System calls that Python 3.11 does not wrap."""

import ctypes
import os

PR_SET_PDEATHSIG = 1


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def signal_on_parent_death(signal_number: int, parent: int) -> None:
    """Ask the kernel to signal this process when its parent dies; ends the process if that has happened already."""
    _libc().prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def enter_namespaces(pid: int, kinds: tuple[str, ...] = ("net", "uts", "mnt")) -> None:
    """Move this (single-threaded) process into namespaces of another.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    for kind in kinds:
        descriptor = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _libc().setns(descriptor, 0) != 0:
                number = ctypes.get_errno()
                raise OSError(number, f"setns {kind}: {os.strerror(number)}")
        finally:
            os.close(descriptor)
