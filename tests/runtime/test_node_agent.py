"""An agent's call gets through although its first connections are dropped, and gives up in the end."""

import socket
import threading

import pytest

from autosync_lab.runtime.authenticated_channel import AuthenticatedChannel
from autosync_lab.runtime.handshake import RESPONSE_BYTES, accept, challenge
from autosync_lab.runtime.node_agent import CALLS, Invitation

SECRET = b"s" * 32


def hang_up(listener: socket.socket, times: int) -> None:
    for _ in range(times):
        connection, _ = listener.accept()
        connection.close()


def answer(listener: socket.socket, after: int, said: list[dict[str, str]]) -> None:
    hang_up(listener, after)
    connection, _ = listener.accept()
    asked = challenge()
    connection.sendall(asked)
    accepted = accept(SECRET, asked, connection.recv(RESPONSE_BYTES, socket.MSG_WAITALL))
    assert accepted is not None
    connection.sendall(accepted.proof)
    channel = AuthenticatedChannel(connection, accepted.to_caller, accepted.to_listener)
    said.append(channel.receive()[0])
    channel.close()


def test_a_dropped_caller_calls_again() -> None:
    said: list[dict[str, str]] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener, CALLS - 1, said))
        thread.start()
        channel = Invitation("a", *listener.getsockname(), SECRET.hex(), 1).call(1)
        channel.send({"hello": "there"})
        thread.join()
        channel.close()
    assert said == [{"hello": "there"}]


def test_it_gives_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=hang_up, args=(listener, CALLS))
        thread.start()
        with pytest.raises(ConnectionError):
            Invitation("a", *listener.getsockname(), SECRET.hex(), 1).call(1)
        thread.join()
