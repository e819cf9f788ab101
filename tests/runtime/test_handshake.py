"""Both ends prove that they know the secret, and what was overheard proves nothing."""

import os
import socket
import threading
from collections.abc import Callable

import pytest

from autosync_lab.runtime.channel import ChannelClosed
from autosync_lab.runtime.handshake import CHALLENGE_BYTES, RESPONSE_BYTES, accept, call, challenge, respond

SECRET, OTHER = b"s" * 32, b"o" * 32
NONCE = b"n" * 32


def test_who_knows_the_secret_is_accepted() -> None:
    asked = challenge()
    response = respond(SECRET, 7, asked, NONCE)
    accepted = accept(SECRET, asked, response)
    assert accepted is not None
    assert accepted.number == 7
    assert len({accepted.proof, accepted.to_caller, accepted.to_listener, response[-32:]}) == 4


@pytest.mark.parametrize(
    "spoil",
    [
        lambda response: respond(OTHER, 7, b"c" * CHALLENGE_BYTES, NONCE),
        lambda response: respond(SECRET, 7, b"x" * CHALLENGE_BYTES, NONCE),
        lambda response: response[:15] + b"\x08" + response[16:],
        lambda response: response[:-1],
        lambda response: response + b"\0",
        lambda response: bytes(RESPONSE_BYTES),
    ],
    ids=["other secret", "other challenge", "other number", "short", "long", "zeros"],
)
def test_nobody_else_is(spoil: Callable[[bytes], bytes]) -> None:
    asked = b"c" * CHALLENGE_BYTES
    response = respond(SECRET, 7, asked, NONCE)
    assert accept(SECRET, asked, response) is not None
    assert accept(SECRET, asked, spoil(response)) is None


def test_keys_are_new_for_every_connection() -> None:
    keys = set()
    for _ in range(2):
        asked = challenge()
        accepted = accept(SECRET, asked, respond(SECRET, 1, asked, os.urandom(32)))
        assert accepted is not None
        keys |= {accepted.to_caller, accepted.to_listener}
    assert len(keys) == 4


def answer_once(listener: socket.socket, messages: list[bytes]) -> None:
    connection, _ = listener.accept()
    with connection:
        for message in messages:
            connection.sendall(message)
            connection.recv(RESPONSE_BYTES)


def test_a_listener_that_does_not_know_the_secret_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_once, args=(listener, [bytes(32), bytes(32)]))
        thread.start()
        with pytest.raises(ChannelClosed, match="does not know the secret"):
            call(*listener.getsockname(), SECRET, 1, timeout_s=5)
        thread.join()


def test_a_silent_listener_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimeoutError):
        call(*listener.getsockname(), SECRET, 1, timeout_s=0.1)
