"""A channel over TCP whose frames prove where they come from.

What is said is not secret: nor is what replicas tell each other. Keys are made by `handshake`, anew for each connection
and direction; every frame's proof covers its position. So a frame that was changed, left out, repeated, moved or sent
back closes the channel.
"""

import hmac
import json
import socket
import struct
import threading
from typing import Any

from autosync_lab.runtime.channel import FRAME, Channel, ChannelClosed, check_lengths, parse_message

PROOF_BYTES = 32

PROBE_AFTER_S = 10
PROBE_EVERY_S = 10
PROBES = 4
"""A silent connection is probed, so that an end whose machine vanished is noticed within a minute."""

_COUNTER = struct.Struct(">Q")


class AuthenticatedChannel(Channel):
    """One end of an authenticated conversation; any thread may send.

    Parameters
    ----------
    connection : socket.socket
        A connected TCP socket; the channel owns it.
    send_key, receive_key : bytes
        Keys of the two directions.
    """

    def __init__(self, connection: socket.socket, send_key: bytes, receive_key: bytes) -> None:
        super().__init__(connection)
        self._send_key = send_key
        self._receive_key = receive_key
        self._sent = 0
        self._received = 0
        self._sending = threading.Lock()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_AFTER_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_EVERY_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
        # Probes are sent only while nothing else waits to be acknowledged.
        patience_ms = 1000 * (PROBE_AFTER_S + PROBE_EVERY_S * PROBES)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience_ms)

    @property
    def local_address(self) -> str:
        """Address of this end."""
        return str(self._socket.getsockname()[0])

    def send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        header = json.dumps(message).encode()
        lengths = FRAME.pack(len(header), len(payload))
        with self._sending:
            prefix = _COUNTER.pack(self._sent) + lengths
            self._sent += 1
            body = hmac.new(self._send_key, b"body" + prefix, "sha256")
            body.update(header)
            body.update(payload)
            try:
                self._socket.sendall(lengths + _lengths_proof(self._send_key, prefix) + header)
                if payload:
                    self._socket.sendall(payload)
                self._socket.sendall(body.digest())
            except OSError as error:
                raise ChannelClosed(str(error)) from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        lengths = bytes(self._exactly(FRAME.size))
        prefix = _COUNTER.pack(self._received) + lengths
        self._received += 1
        # Nothing is kept ready for lengths that are not the other end's.
        self._check(_lengths_proof(self._receive_key, prefix))
        header_length, payload_length = FRAME.unpack(lengths)
        check_lengths(header_length, payload_length)
        header, payload = self._exactly(header_length), self._exactly(payload_length)
        body = hmac.new(self._receive_key, b"body" + prefix, "sha256")
        body.update(header)
        body.update(payload)
        self._check(body.digest())
        return parse_message(header), bytes(payload)

    def _check(self, proof: bytes) -> None:
        if not hmac.compare_digest(bytes(self._exactly(PROOF_BYTES)), proof):
            self.close()
            raise ChannelClosed("a frame is not what the other end sent next")


def _lengths_proof(key: bytes, prefix: bytes) -> bytes:
    return hmac.digest(key, b"lengths" + prefix, "sha256")
