"""How many bits per second one TCP connection carries from one node to another, measured by a process on each."""

import secrets
import socket
import time
from contextlib import ExitStack
from typing import Any

from autosync_lab.runtime.channel import Channel, ChannelClosed
from autosync_lab.runtime.launchers.base import Launcher

PROBE_S = 1.0
"""Seconds that are sent: long against the start of a connection, short against anybody's patience."""

PATIENCE_S = 20.0
"""Seconds for a connection, or for its next byte, before the probe has failed."""

TOKEN_BYTES = 32
CHUNK_BYTES = 1 << 18


def measured_gbps(launcher: Launcher, sender: int, receiver: int) -> float:
    """Gbit/s from one node to another.

    Parameters
    ----------
    launcher : Launcher
        An open one.
    sender, receiver : int
        Node indices.

    Raises
    ------
    ClusterUnavailable
        If no process can be started on a node.
    ChannelClosed
        If one of them fails: no connection, or it stalls.
    """
    with ExitStack() as stack:

        def start(node: int) -> Channel:
            process = launcher.spawn("link_probe", node, f"link probe {node}", {}, {})
            stack.callback(launcher.kill, process)
            stack.callback(process.channel.close)
            return process.channel

        into, out = start(receiver), start(sender)
        token = secrets.token_hex(TOKEN_BYTES)
        into.send({"receive": launcher.address(receiver), "token": token})
        port = into.receive()[0]["port"]
        out.send({"send": launcher.address(receiver), "port": port, "token": token})
        found = into.receive()[0]
        return float(found["bytes"] * 8 / found["seconds"] / 1e9)


def serve_link_probe(channel: Channel) -> int:
    """Send or receive as told, until the client's end of the channel closes."""
    while True:
        try:
            order, _ = channel.receive()
            if "receive" in order:
                _receive(channel, order["receive"], bytes.fromhex(order["token"]))
            else:
                _send((order["send"], order["port"]), bytes.fromhex(order["token"]))
        except ChannelClosed:
            return 0


def _receive(channel: Channel, address: str, token: bytes) -> None:
    with socket.create_server((address, 0)) as listener:
        listener.settimeout(PATIENCE_S)
        channel.send({"port": listener.getsockname()[1]})
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                # What a stranger sends is not counted.
                if secrets.compare_digest(connection.recv(TOKEN_BYTES, socket.MSG_WAITALL), token):
                    channel.send(_count(connection))
                    return


def _count(connection: socket.socket) -> dict[str, Any]:
    buffer = bytearray(CHUNK_BYTES)
    begin, count = time.perf_counter(), 0
    while got := connection.recv_into(buffer):
        count += got
    return {"bytes": count, "seconds": time.perf_counter() - begin}


def _send(address: tuple[str, int], token: bytes) -> None:
    chunk = bytes(CHUNK_BYTES)
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        connection.sendall(token)
        end = time.perf_counter() + PROBE_S
        while time.perf_counter() < end:
            connection.sendall(chunk)
