"""The channel says when the other end takes nothing any more."""

import socket

import pytest

from autosync_lab.runtime.channel import Channel, ChannelBlocked

MORE_THAN_A_SOCKET_HOLDS = 64 << 20


def test_a_send_that_nobody_takes_ends() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(ours)
        channel.limit_sends(1)
        channel.send({"order": "feed"}, b"small")
        with pytest.raises(ChannelBlocked):
            channel.send({"order": "feed"}, bytes(MORE_THAN_A_SOCKET_HOLDS))
        channel.close()
