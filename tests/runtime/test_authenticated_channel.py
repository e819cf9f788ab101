"""Frames that are not what the other end sent next close the channel."""

import socket
from collections.abc import Callable

import pytest

from autosync_lab.runtime.authenticated_channel import AuthenticatedChannel
from autosync_lab.runtime.channel import FRAME, MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES, ChannelClosed

HERE, THERE = b"h" * 32, b"t" * 32
FRAME_BYTES = FRAME.size + 32 + len('{"message": 0}payload') + 32
FIELDS = {"lengths": 3, "their proof": 20, "header": 50, "payload": 60, "proof": 70}
"""A byte of each part of a frame."""


def flipped(at: int) -> Callable[[bytes, bytes], bytes]:
    return lambda first, second: first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :]


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname(), timeout=5)
        theirs, _ = listener.accept()
        theirs.settimeout(5)
    return ours, theirs


def frame(number: int, key: bytes = HERE) -> bytes:
    """What goes over the wire for message `number`."""
    ours, wire = tcp_pair()
    channel = AuthenticatedChannel(ours, key, THERE)
    with wire:
        for index in range(number + 1):
            channel.send({"message": index}, b"payload")
            data = wire.recv(FRAME_BYTES, socket.MSG_WAITALL)
    channel.close()
    return data


def receive(data: bytes, count: int) -> list[dict[str, int]]:
    """What an end makes of bytes from the wire."""
    wire, theirs = tcp_pair()
    channel = AuthenticatedChannel(theirs, THERE, HERE)
    try:
        with wire:
            wire.sendall(data)
            wire.shutdown(socket.SHUT_WR)
            return [channel.receive()[0] for _ in range(count)]
    finally:
        channel.close()


def test_messages_arrive_in_order_with_their_payload() -> None:
    assert receive(frame(0) + frame(1), 2) == [{"message": 0}, {"message": 1}]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda first, second: first + first,
        lambda first, second: second,
        lambda first, second: second + first,
        lambda first, second: frame(0, THERE),
        *map(flipped, FIELDS.values()),
    ],
    ids=["repeated", "left out", "swapped", "sent back", *FIELDS],
)
def test_anything_else_closes_the_channel(spoil: Callable[[bytes, bytes], bytes]) -> None:
    with pytest.raises(ChannelClosed):
        receive(spoil(frame(0), frame(1)), 2)


def test_lengths_of_a_stranger_allocate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    exactly = AuthenticatedChannel._exactly
    monkeypatch.setattr(AuthenticatedChannel, "_exactly", lambda self, n: asked.append(n) or exactly(self, n))
    with pytest.raises(ChannelClosed, match="not what the other end sent"):
        receive(FRAME.pack(MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES) + bytes(64), 1)
    assert sum(asked) < 100
