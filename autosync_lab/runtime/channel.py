"""Messages between the notebook's process and its workers: JSON with optional bytes, over a connected socket.

The sockets are pairs made by the notebook's process and inherited by its children, so there is no port that a stranger
could connect to. Nothing is pickled; a frame is bounded before it is read.
"""

import json
import socket
import struct
from typing import Any

MAX_HEADER_BYTES = 64 << 20
MAX_PAYLOAD_BYTES = 8 << 30

_FRAME = struct.Struct(">IQ")


class ChannelClosed(ConnectionError):
    """The other end is gone, or sent what is no message."""


class Channel:
    """One end of a conversation.

    Parameters
    ----------
    connection : socket.socket
        A connected stream socket; the channel owns it.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        """Send one message.

        Raises
        ------
        ChannelClosed
            If the other end is gone.
        """
        header = json.dumps(message).encode()
        try:
            self._socket.sendall(_FRAME.pack(len(header), len(payload)) + header)
            if payload:
                self._socket.sendall(payload)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for one message.

        Raises
        ------
        ChannelClosed
            If the other end is gone, or the frame is over the limits or no JSON object.
        """
        header_length, payload_length = _FRAME.unpack(self._exactly(_FRAME.size))
        if header_length > MAX_HEADER_BYTES or payload_length > MAX_PAYLOAD_BYTES:
            raise ChannelClosed(f"a frame of {header_length} + {payload_length} bytes is over the limit")
        try:
            message = json.loads(self._exactly(header_length))
        except ValueError:
            raise ChannelClosed("a frame is no JSON") from None
        if not isinstance(message, dict):
            raise ChannelClosed("a frame is no JSON object")
        return message, bytes(self._exactly(payload_length))

    def close(self) -> None:
        """Close this end; a `receive` that waits in another thread ends with `ChannelClosed`."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view, got = memoryview(data), 0
        while got < count:
            try:
                step = self._socket.recv_into(view[got:])
            except OSError as error:
                raise ChannelClosed(str(error)) from None
            if step == 0:
                raise ChannelClosed("the other end closed the channel")
            got += step
        return data
