"""Where the processes of other machines call the notebook: a port that believes only who knows this run's secret.

One thread looks after all callers that have not proved themselves, with a fixed number of bytes and some seconds for
each; of too many, the oldest is dropped, so that strangers who keep connections open do not keep the cluster out.
"""

import contextlib
import itertools
import secrets
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field

from autosync_lab.runtime.authenticated_channel import AuthenticatedChannel
from autosync_lab.runtime.handshake import RESPONSE_BYTES, SECRET_BYTES, accept, challenge

HANDSHAKE_S = 5.0
"""Seconds in which a caller proves itself."""

MAX_CALLERS = 64
"""Callers that are proving themselves at a time."""


@dataclass
class _Caller:
    """A connection that has proved nothing yet."""

    connection: socket.socket
    challenge: bytes
    deadline: float
    said: bytearray = field(default_factory=bytearray)


class CommandPort:
    """A listening port; made ready by the constructor.

    Life cycle: `expect` a conversation, have somebody call with its number and the `secret`, `take` the channel.
    `close` ends the port; channels that were taken go on.

    Parameters
    ----------
    address : str
        IPv4 address that it listens on.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self._numbers = itertools.count(1)
        self._expected: set[int] = set()
        self._arrived: dict[int, AuthenticatedChannel] = {}
        self._changed = threading.Condition()
        self._callers: dict[int, _Caller] = {}
        self._listener = socket.create_server((address, 0), backlog=MAX_CALLERS)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._bell, self._ring = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="command-port")
        self._thread.start()

    def expect(self) -> int:
        """The number of a new conversation: whoever knows the secret may call with it, once."""
        with self._changed:
            number = next(self._numbers)
            self._expected.add(number)
            return number

    def take(self, number: int, timeout_s: float) -> AuthenticatedChannel | None:
        """The channel of who called with a number; None if nobody did within `timeout_s` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._arrived, timeout=timeout_s)
            return self._arrived.pop(number, None)

    def forget(self, number: int) -> None:
        """Expect no call with this number any more."""
        with self._changed:
            self._expected.discard(number)
            channel = self._arrived.pop(number, None)
        if channel is not None:
            channel.close()

    def close(self) -> None:
        """Listen no more."""
        with contextlib.suppress(OSError):
            self._ring.send(b"x")
        self._thread.join(timeout=HANDSHAKE_S)
        self._ring.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector, self._listener, self._bell:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._bell, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(1.0 if self._callers else None):
                    if key.fileobj is self._bell:
                        for caller in list(self._callers.values()):
                            self._drop(selector, caller)
                        return
                    if key.fileobj is self._listener:
                        self._greet(selector)
                    elif key.fd in self._callers:
                        self._hear(selector, self._callers[key.fd])
                now = time.monotonic()
                for caller in [c for c in self._callers.values() if c.deadline < now]:
                    self._drop(selector, caller)

    def _greet(self, selector: selectors.BaseSelector) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if len(self._callers) >= MAX_CALLERS:
            self._drop(selector, next(iter(self._callers.values())))
        connection.setblocking(False)
        caller = _Caller(connection, challenge(), time.monotonic() + HANDSHAKE_S)
        self._callers[connection.fileno()] = caller
        selector.register(connection, selectors.EVENT_READ)
        self._say(selector, caller, caller.challenge)

    def _hear(self, selector: selectors.BaseSelector, caller: _Caller) -> None:
        try:
            got = caller.connection.recv(RESPONSE_BYTES - len(caller.said))
        except BlockingIOError:
            return
        except OSError:
            got = b""
        caller.said += got
        if not got:
            self._drop(selector, caller)
        elif len(caller.said) == RESPONSE_BYTES:
            self._judge(selector, caller)

    def _judge(self, selector: selectors.BaseSelector, caller: _Caller) -> None:
        accepted = accept(self.secret, caller.challenge, bytes(caller.said))
        with self._changed:
            if accepted is None or accepted.number not in self._expected:
                self._drop(selector, caller)
                return
            if not self._say(selector, caller, accepted.proof):
                return
            self._expected.discard(accepted.number)
            selector.unregister(caller.connection)
            del self._callers[caller.connection.fileno()]
            caller.connection.setblocking(True)
            channel = AuthenticatedChannel(caller.connection, accepted.to_caller, accepted.to_listener)
            self._arrived[accepted.number] = channel
            self._changed.notify_all()

    def _say(self, selector: selectors.BaseSelector, caller: _Caller, data: bytes) -> bool:
        """Send a few bytes to a connection that has room for them, or drop it."""
        try:
            if caller.connection.send(data) == len(data):
                return True
        except OSError:
            pass
        self._drop(selector, caller)
        return False

    def _drop(self, selector: selectors.BaseSelector, caller: _Caller) -> None:
        selector.unregister(caller.connection)
        del self._callers[caller.connection.fileno()]
        caller.connection.close()


def address_towards(host: str) -> str:
    """The IPv4 address of this machine that reaches a host, as the kernel's routes have it; nothing is sent.

    Raises
    ------
    OSError
        If the host's name does not resolve, or no route leads there.
    """
    found = socket.getaddrinfo(host, 9, socket.AF_INET, socket.SOCK_DGRAM)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(found[0][4])
        return str(probe.getsockname()[0])
