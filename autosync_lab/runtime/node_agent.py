"""The agent: on each node of a cluster of machines, what the fork server is on this one.

It learns on its standard input where to call the notebook and the secret to prove itself with (no other user of the
node can see either), calls, and obeys. Children's channels are connections of their own, made before they are forked.
It ends, and its children with it, when its connection closes, also because the notebook's machine is gone.
"""

import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from autosync_lab.runtime.authenticated_channel import AuthenticatedChannel
from autosync_lab.runtime.channel import ChannelClosed
from autosync_lab.runtime.forked_child import fork_child, import_heavy, wait_for_child
from autosync_lab.runtime.handshake import call
from autosync_lab.runtime.log_tail import log_tail
from autosync_lab.runtime.node_report import NodeReport, report_of_this_machine
from autosync_lab.runtime.run_folder import RunFolder

MAX_INVITATION_BYTES = 1 << 16
CALLS = 3
CALL_S = 20.0
"""Seconds in which the notebook answers a call."""


@dataclass(frozen=True)
class Invitation:
    """Where to call, and what an agent needs to be believed.

    Parameters
    ----------
    node : str
        How the cluster calls the agent's node.
    address, port : str, int
        The notebook's command port.
    secret : str
        In hexadecimal.
    number : int
        The agent's conversation.
    """

    node: str
    address: str
    port: int
    secret: str = field(repr=False)
    number: int

    def to_line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Invitation":
        """Inverse of `to_line`."""
        return cls(**json.loads(line))

    def call(self, number: int) -> AuthenticatedChannel:
        """Call the notebook with the number of a conversation; errors as of `handshake.call`."""
        for left in reversed(range(CALLS)):
            try:
                return call(self.address, self.port, bytes.fromhex(self.secret), number, CALL_S)
            except ConnectionError:
                # Of too many strangers the port drops the oldest caller, which may be this one.
                if not left:
                    raise
        raise AssertionError("a call returns or raises")


def main() -> None:
    """Be the agent that the invitation on standard input asks for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    invitation = Invitation.from_line(sys.stdin.buffer.readline(MAX_INVITATION_BYTES))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        control = invitation.call(invitation.number)
    except OSError as error:
        sys.exit(f"node {invitation.node} cannot call {invitation.address}:{invitation.port}: {error}")
    folder = RunFolder()
    try:
        _Agent(invitation, control, folder).serve()
    except ChannelClosed:
        pass
    finally:
        folder.remove()


class _Agent:
    """What an agent keeps between orders."""

    def __init__(self, invitation: Invitation, control: AuthenticatedChannel, folder: RunFolder) -> None:
        self._invitation = invitation
        self._control = control
        self._folder = folder
        self._report: NodeReport = report_of_this_machine(invitation.node, control.local_address)
        self._children: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Obey until the connection closes, which raises `ChannelClosed`."""
        self._control.send({"report": self._report.to_json()})
        self._selector.register(self._control, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    order, _ = self._control.receive()
                    self._obey(order)
                else:
                    self._bury(key.fd)

    def _obey(self, order: dict[str, Any]) -> None:
        orders: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "prepare": lambda _: {"versions": import_heavy()},
            "spawn": self._spawn,
            "kill": self._kill,
            "tail": lambda order: {"text": log_tail(self._folder.path / f"{order['name']}.log", order["lines"])},
            "clock": lambda _: {"seconds": time.time()},
            "bytes": self._bytes,
        }
        try:
            answer = orders[order["order"]](order)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        self._control.send(answer | {"answers": order["number"]})

    def _spawn(self, order: dict[str, Any]) -> dict[str, Any]:
        channel = self._invitation.call(order["channel"])
        port = _free_port()
        log = str(self._folder.path / f"{order['name']}.log")
        pid = fork_child(order["role"], channel, log, order["config"], order["environment"])
        watch = os.pidfd_open(pid)
        self._children[watch] = pid
        self._selector.register(watch, selectors.EVENT_READ)
        return {"pid": pid, "port": port}

    def _kill(self, order: dict[str, Any]) -> dict[str, Any]:
        # Children are waited for here only, so the pid is still this child's.
        if order["pid"] in self._children.values():
            os.kill(order["pid"], signal.SIGKILL)
        return {}

    def _bytes(self, _: dict[str, Any]) -> dict[str, Any]:
        counters = psutil.net_io_counters(pernic=True)[self._report.interface]
        return {"sent": counters.bytes_sent, "received": counters.bytes_recv}

    def _bury(self, watch: int) -> None:
        self._selector.unregister(watch)
        os.close(watch)
        pid = self._children.pop(watch)
        self._control.send({"exited": pid, "code": wait_for_child(pid)})


def _free_port() -> int:
    """A port that is free on all of this machine's addresses, where TensorFlow's server listens."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
