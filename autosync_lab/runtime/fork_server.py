"""The fork server: a process that imports TensorFlow and Horovod once and forks every worker from there.

It talks to its client over a SOCK_SEQPACKET pair: one JSON object a packet, with a file descriptor where a child's
channel is handed over. It ends, and its children with it, when the client's end closes.
"""

import json
import os
import selectors
import signal
import socket
import sys
from typing import Any

from autosync_lab.runtime.channel import Channel
from autosync_lab.runtime.forked_child import fork_child, import_heavy, wait_for_child

PACKET_BYTES = 1 << 17


def main() -> None:
    """Serve until the client's end of the socket (its descriptor is the only argument) closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _send(control, {"ready": import_heavy()})
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
                    pid = fork_child(
                        order["role"],
                        Channel(socket.socket(fileno=descriptors[0])),
                        order["log"],
                        order["config"],
                        order["environment"],
                        order["namespace_pid"],
                    )
                    watch = os.pidfd_open(pid)
                    children[watch] = pid
                    selector.register(watch, selectors.EVENT_READ)
                    _send(control, {"forked": order["number"], "pid": pid})
                else:
                    watch = key.fd
                    selector.unregister(watch)
                    os.close(watch)
                    pid = children.pop(watch)
                    _send(control, {"exited": pid, "code": wait_for_child(pid)})


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    try:
        control.send(json.dumps(message).encode())
    except OSError:
        sys.exit(0)


if __name__ == "__main__":
    main()
