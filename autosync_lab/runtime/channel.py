"""Messages between the notebook's process and its workers: JSON with optional bytes, over a connected socket.

On this machine the sockets are pairs made by the notebook's process and inherited by its children, so there is no port
that a stranger could connect to; across machines see `authenticated_channel`. Nothing is pickled; a frame is bounded
before it is read.
"""

import json
import socket
import struct
from typing import Any

MAX_HEADER_BYTES = 64 << 20
MAX_PAYLOAD_BYTES = 8 << 30

FRAME = struct.Struct(">IQ")
"""Begins every frame: the lengths of its header, which is JSON, and of its payload."""


class ChannelClosed(ConnectionError):
    """The other end is gone, or sent what is no message."""


class ChannelBlocked(ChannelClosed):
    """The other end takes no more bytes, for longer than `Channel.limit_sends` allows."""


class Channel:
    """One end of a conversation.

    Parameters
    ----------
    connection : socket.socket
        A connected stream socket; the channel owns it.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def limit_sends(self, seconds: int) -> None:
        """From now on, a `send` of which not one byte is taken for that long raises `ChannelBlocked`."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", seconds, 0))

    def send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        """Send one message.

        Raises
        ------
        ChannelClosed
            If the other end is gone.
        ChannelBlocked
            See `limit_sends`.
        """
        header = json.dumps(message).encode()
        try:
            self._socket.sendall(FRAME.pack(len(header), len(payload)) + header)
            if payload:
                self._socket.sendall(payload)
        except BlockingIOError:
            raise ChannelBlocked("the other end takes no more bytes") from None
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for one message.

        Raises
        ------
        ChannelClosed
            If the other end is gone, or the frame is over the limits or no JSON object.
        """
        header_length, payload_length = FRAME.unpack(self._exactly(FRAME.size))
        check_lengths(header_length, payload_length)
        message = parse_message(self._exactly(header_length))
        return message, bytes(self._exactly(payload_length))

    def fileno(self) -> int:
        """Descriptor of the socket, to wait for."""
        return self._socket.fileno()

    def release(self) -> None:
        """Let go of this process's copy of the socket: the conversation goes on in the child that has another."""
        self._socket.close()

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


def check_lengths(header_length: int, payload_length: int) -> None:
    """Refuse a frame over the limits.

    Raises
    ------
    ChannelClosed
    """
    if header_length > MAX_HEADER_BYTES or payload_length > MAX_PAYLOAD_BYTES:
        raise ChannelClosed(f"a frame of {header_length} + {payload_length} bytes is over the limit")


def parse_message(header: bytes | bytearray) -> dict[str, Any]:
    """The message in a frame's header.

    Raises
    ------
    ChannelClosed
        If it is no JSON object.
    """
    try:
        message = json.loads(header)
    except ValueError:
        raise ChannelClosed("a frame is no JSON") from None
    if not isinstance(message, dict):
        raise ChannelClosed("a frame is no JSON object")
    return message
