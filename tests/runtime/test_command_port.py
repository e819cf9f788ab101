"""A stranger at the command port gets nothing, and keeps nobody out."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from autosync_lab.runtime import command_port
from autosync_lab.runtime.channel import ChannelClosed
from autosync_lab.runtime.command_port import MAX_CALLERS, CommandPort, address_towards
from autosync_lab.runtime.handshake import CHALLENGE_BYTES, call, respond


@pytest.fixture
def port() -> Iterator[CommandPort]:
    opened = CommandPort("127.0.0.1")
    yield opened
    opened.close()


def connect(port: CommandPort) -> socket.socket:
    return socket.create_connection((port.address, port.port), timeout=10)


def learns_only_a_challenge(stranger: socket.socket) -> bool:
    data = b""
    try:
        while got := stranger.recv(1 << 16):
            data += got
    except ConnectionError:
        pass
    return len(data) <= CHALLENGE_BYTES


def assert_works(port: CommandPort) -> None:
    number = port.expect()
    node = call(port.address, port.port, port.secret, number, timeout_s=10)
    ours = port.take(number, 10)
    assert ours is not None
    ours.send({"order": "x"}, b"bytes")
    assert node.receive() == ({"order": "x"}, b"bytes")
    node.send({"done": "x"})
    assert ours.receive() == ({"done": "x"}, b"")
    node.close()
    with pytest.raises(ChannelClosed):
        ours.receive()
    ours.close()


def test_who_knows_the_secret_has_a_channel(port: CommandPort) -> None:
    assert_works(port)
    assert_works(port)


def test_garbage(port: CommandPort) -> None:
    for garbage in (os.urandom(80), b"GET / HTTP/1.1\r\nHost: here\r\n\r\n" * 4, bytes(1000)):
        with connect(port) as stranger:
            stranger.sendall(garbage)
            assert learns_only_a_challenge(stranger)
    assert_works(port)


def test_a_gigabyte(port: CommandPort) -> None:
    chunk, sent = bytes(1 << 20), 0
    with connect(port) as stranger, suppress(ConnectionError):
        while sent < 1 << 30:
            sent += stranger.send(chunk)
    assert sent < 64 << 20
    assert_works(port)


def test_silent_and_half_open_connections(port: CommandPort) -> None:
    threads = threading.active_count()
    strangers = [connect(port) for _ in range(3 * MAX_CALLERS)]
    for stranger in strangers[::2]:
        stranger.sendall(b"half")
    assert_works(port)
    assert threading.active_count() == threads
    assert len(port._callers) <= MAX_CALLERS
    for stranger in strangers:
        stranger.close()


def test_silence_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_port, "HANDSHAKE_S", 0.1)
    port = CommandPort("127.0.0.1")
    with connect(port) as stranger:
        assert learns_only_a_challenge(stranger)
    port.close()


def test_a_wrong_secret(port: CommandPort) -> None:
    number = port.expect()
    with pytest.raises(ConnectionError):
        call(port.address, port.port, bytes(32), number, timeout_s=10)
    assert port.take(number, 0) is None
    assert_works(port)


def test_a_replayed_caller(port: CommandPort) -> None:
    number = port.expect()
    with connect(port) as node:
        response = respond(port.secret, number, node.recv(CHALLENGE_BYTES, socket.MSG_WAITALL), os.urandom(32))
        with connect(port) as stranger:
            stranger.sendall(response)
            assert learns_only_a_challenge(stranger)
        node.sendall(response)
        taken = port.take(number, 10)
        assert taken is not None
        taken.close()


@pytest.mark.parametrize("number", [0, 99], ids=["never given", "not given yet"])
def test_a_number_that_nobody_expects(port: CommandPort, number: int) -> None:
    with pytest.raises(ConnectionError):
        call(port.address, port.port, port.secret, number, timeout_s=10)
    assert_works(port)


def test_a_number_is_good_for_one_call(port: CommandPort) -> None:
    number = port.expect()
    first = call(port.address, port.port, port.secret, number, timeout_s=10)
    with pytest.raises(ConnectionError):
        call(port.address, port.port, port.secret, number, timeout_s=10)
    first.close()


def test_a_closed_port_is_gone() -> None:
    threads = threading.active_count()
    port = CommandPort("127.0.0.1")
    stranger = connect(port)
    port.close()
    assert learns_only_a_challenge(stranger)
    stranger.close()
    with pytest.raises(ConnectionRefusedError):
        connect(port)
    assert threading.active_count() == threads


def test_the_address_towards_a_host() -> None:
    assert address_towards("127.0.0.1") == "127.0.0.1"
    with pytest.raises(OSError, match=r"[Nn]ame"):
        address_towards("no-such-host.invalid")
