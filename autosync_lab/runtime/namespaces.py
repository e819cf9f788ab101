"""Private namespaces: a network, host name and mount table that vanish with their last process."""

import functools
import os
import subprocess
import time
from pathlib import Path

from autosync_lab.errors import ClusterUnavailable

UNSHARE = ("unshare", "--net", "--uts", "--mount")


@functools.cache
def unshare_command() -> tuple[str, ...] | None:
    """Command prefix that starts a program in namespaces of its own; None where the kernel forbids it.

    Root needs no user namespace; others get one, in which they are root.
    """
    prefix = UNSHARE if os.geteuid() == 0 else (*UNSHARE, "--user", "--map-root-user")
    try:
        probe = subprocess.run([*prefix, "true"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return prefix if probe.returncode == 0 else None


def enter_command(pid: int) -> tuple[str, ...]:
    """Command prefix that runs a program in the namespaces of the process `pid`."""
    own_user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    return ("nsenter", "--target", str(pid), "--net", "--uts", "--mount", *own_user)


def wait_for_namespaces(process: "subprocess.Popen[bytes]", outside_pid: int) -> None:
    """Wait until a process started with `unshare_command` has left the network of `outside_pid` and become its program.

    Raises
    ------
    ClusterUnavailable
        If it ends instead, or 10 seconds pass.
    """
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        try:
            apart = os.readlink(f"/proc/{process.pid}/ns/net") != os.readlink(f"/proc/{outside_pid}/ns/net")
            if apart and Path(f"/proc/{process.pid}/comm").read_text().strip() not in (
                "unshare",
                "nsenter",
            ):
                return
        except OSError:
            pass
        time.sleep(0.002)
    raise ClusterUnavailable("a process did not get namespaces of its own", stage="network")
