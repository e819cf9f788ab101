"""A process forked from one that has imported TensorFlow and Horovod, which takes milliseconds instead of seconds.

Who forks must stay single-threaded and never run a TensorFlow operation, or its children would inherit a broken
runtime.
"""

import gc
import os
import signal
import sys
from typing import Any

from autosync_lab.runtime.channel import Channel
from autosync_lab.runtime.linux import enter_namespaces, signal_on_parent_death


def import_heavy() -> dict[str, str]:
    """Import all that children need.

    Returns
    -------
    dict of str to str
        Versions by package.
    """
    import horovod
    import horovod.tensorflow
    import keras
    import numpy
    import tensorflow as tf

    import autosync_lab
    import autosync_lab.runtime.worker

    # What is imported stays: collecting garbage in a child need not look at it, nor copy its pages.
    gc.collect()
    gc.freeze()
    return {
        "autosync_lab": autosync_lab.__version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "horovod": horovod.__version__,
        "numpy": numpy.__version__,
        "python": sys.version.split()[0],
        "linux": os.uname().release,
    }


def fork_child(
    role: str,
    channel: Channel,
    log: str,
    config: dict[str, Any],
    environment: dict[str, str],
    namespace_pid: int | None = None,
) -> int:
    """Fork a process that plays a role and dies with this one.

    Parameters
    ----------
    role : str
        "worker", "rendezvous", "mirrored" or "link_probe".
    channel : Channel
        The child's; this process lets go of it.
    log : str
        File that gets what the child writes.
    config : dict
        Of the role.
    environment : dict of str to str
        Added to this process's.
    namespace_pid : int, optional
        A process whose namespaces the child enters.

    Returns
    -------
    int
        Its pid.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid:
        channel.release()
        return pid
    code = 1
    try:
        signal_on_parent_death(signal.SIGKILL, parent)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _close_others({0, 1, 2, channel.fileno()})
        if namespace_pid is not None:
            enter_namespaces(namespace_pid)
        os.environ.update(environment)
        code = _play(role, channel, config)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait_for_child(pid: int) -> int:
    """Exit code of a child that has ended, or minus the signal that ended it."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _close_others(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass


def _play(role: str, channel: Channel, config: dict[str, Any]) -> int:
    if role == "worker":
        from autosync_lab.runtime.worker import serve_worker

        return serve_worker(channel, config)
    if role == "rendezvous":
        from autosync_lab.runtime.rendezvous import serve_rendezvous

        return serve_rendezvous(channel, config)
    if role == "mirrored":
        from autosync_lab.runtime.mirrored_worker import MirroredWorker
        from autosync_lab.runtime.worker import serve

        return serve(channel, config, MirroredWorker(channel))
    if role == "link_probe":
        from autosync_lab.runtime.link_probe import serve_link_probe

        return serve_link_probe(channel)
    raise ValueError(f"no role {role!r}")
