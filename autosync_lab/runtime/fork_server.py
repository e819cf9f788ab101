"""The fork server: a process that imports TensorFlow and Horovod once and forks every worker from there.

Importing them takes seconds of CPU per process; a fork takes milliseconds. The server must stay single-threaded and
never run a TensorFlow operation, or its children would inherit a broken runtime.

It talks to its client over a SOCK_SEQPACKET pair: one JSON object a packet, with a file descriptor where a child's
channel is handed over. It ends, and its children with it, when the client's end closes.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from typing import Any

from autosync_lab.runtime.channel import Channel
from autosync_lab.runtime.linux import enter_namespaces, signal_on_parent_death

PACKET_BYTES = 1 << 17


def main() -> None:
    """Serve until the client's end of the socket (its descriptor is the only argument) closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    versions = _import_heavy()
    # What is imported stays: collecting garbage in a worker need not look at it, nor copy its pages.
    gc.collect()
    gc.freeze()
    _send(control, {"ready": versions})
    children: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is control:
                    packet, descriptors, _, _ = socket.recv_fds(control, PACKET_BYTES, 1)
                    if not packet:
                        return
                    order = json.loads(packet)
                    pid = _fork(order, descriptors[0])
                    os.close(descriptors[0])
                    watch = os.pidfd_open(pid)
                    children[watch] = pid
                    selector.register(watch, selectors.EVENT_READ)
                    _send(control, {"forked": order["number"], "pid": pid})
                else:
                    watch = key.fd
                    selector.unregister(watch)
                    os.close(watch)
                    pid = children.pop(watch)
                    _, status = os.waitpid(pid, 0)
                    _send(
                        control,
                        {"exited": pid, "code": os.waitstatus_to_exitcode(status)},
                    )


def _import_heavy() -> dict[str, str]:
    import horovod
    import horovod.tensorflow
    import keras
    import numpy
    import tensorflow as tf

    import autosync_lab
    import autosync_lab.runtime.worker

    return {
        "autosync_lab": autosync_lab.__version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "horovod": horovod.__version__,
        "numpy": numpy.__version__,
        "python": sys.version.split()[0],
        "linux": os.uname().release,
    }


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    try:
        control.send(json.dumps(message).encode())
    except OSError:
        sys.exit(0)


def _fork(order: dict[str, Any], descriptor: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal_on_parent_death(signal.SIGKILL, parent)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        _close_others({0, 1, 2, descriptor})
        channel = Channel(socket.socket(fileno=os.dup(descriptor)))
        if order["namespace_pid"] is not None:
            enter_namespaces(order["namespace_pid"])
        os.environ.update(order["environment"])
        code = _run(order["role"], channel, order["config"])
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _close_others(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass


def _run(role: str, channel: Channel, config: dict[str, Any]) -> int:
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
    raise ValueError(f"no role {role!r}")


if __name__ == "__main__":
    main()
