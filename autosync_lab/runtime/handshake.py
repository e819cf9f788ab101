"""How both ends of a TCP connection prove that they know one secret, before either believes the other.

The listener sends a random challenge. Who calls answers with a number (which conversation this is), random bytes of its
own and its proof; the listener checks that, and only then proves the same in return. Every message has a fixed size, so
nothing more is kept for a stranger, who sees random bytes only. Proofs are HMAC-SHA256 (RFC 2104) over the role and
both ends' random bytes: one that was overheard fits no other connection, number or direction.
"""

import hmac
import os
import socket
import struct
import time
from dataclasses import dataclass

from autosync_lab.runtime.authenticated_channel import AuthenticatedChannel
from autosync_lab.runtime.channel import ChannelClosed

SECRET_BYTES = 32
CHALLENGE_BYTES = 32
PROOF_BYTES = 32

_HELLO = struct.Struct(">8sQ32s")
_MAGIC = b"asl-cmd1"
RESPONSE_BYTES = _HELLO.size + PROOF_BYTES


@dataclass(frozen=True)
class Accepted:
    """What a right response comes to: which conversation, the listener's proof, and the keys of each direction."""

    number: int
    proof: bytes
    to_caller: bytes
    to_listener: bytes


def challenge() -> bytes:
    """What a listener sends first: `CHALLENGE_BYTES` random bytes."""
    return os.urandom(CHALLENGE_BYTES)


def respond(secret: bytes, number: int, challenge: bytes, nonce: bytes) -> bytes:
    """A caller's answer to a challenge.

    Parameters
    ----------
    secret : bytes
    number : int
        Of the conversation, 0 to 2**64 - 1.
    challenge : bytes
        As received.
    nonce : bytes
        32 random bytes, used once.

    Returns
    -------
    bytes
        `RESPONSE_BYTES` of them.
    """
    hello = _HELLO.pack(_MAGIC, number, nonce)
    return hello + _proof(secret, b"caller", challenge, hello)


def accept(secret: bytes, challenge: bytes, response: bytes) -> Accepted | None:
    """What a listener makes of a response to its challenge; None if the caller does not know the secret."""
    if len(response) != RESPONSE_BYTES:
        return None
    hello, proof = response[: _HELLO.size], response[_HELLO.size :]
    if not hmac.compare_digest(proof, _proof(secret, b"caller", challenge, hello)):
        return None
    magic, number, _ = _HELLO.unpack(hello)
    if magic != _MAGIC:
        return None
    return Accepted(
        number,
        _proof(secret, b"listener", challenge, hello),
        _proof(secret, b"to caller", challenge, hello),
        _proof(secret, b"to listener", challenge, hello),
    )


def call(address: str, port: int, secret: bytes, number: int, timeout_s: float) -> AuthenticatedChannel:
    """Connect to a listener, and prove to each other who one is.

    Parameters
    ----------
    address : str
    port : int
    secret : bytes
    number : int
        Of the conversation.
    timeout_s : float
        Seconds that all of it may take.

    Raises
    ------
    OSError
        If nobody listens there, or it takes too long.
    ChannelClosed
        If the listener hangs up, or does not know the secret.
    """
    deadline = time.monotonic() + timeout_s
    connection = socket.create_connection((address, port), timeout=timeout_s)
    try:
        asked = _receive(connection, CHALLENGE_BYTES, deadline)
        response = respond(secret, number, asked, os.urandom(32))
        connection.sendall(response)
        proof = _receive(connection, PROOF_BYTES, deadline)
        accepted = accept(secret, asked, response)
        assert accepted is not None
        if not hmac.compare_digest(proof, accepted.proof):
            raise ChannelClosed(f"who listens at {address}:{port} does not know the secret")
        connection.settimeout(None)
        return AuthenticatedChannel(connection, accepted.to_listener, accepted.to_caller)
    except BaseException:
        connection.close()
        raise


def _proof(secret: bytes, role: bytes, challenge: bytes, hello: bytes) -> bytes:
    return hmac.digest(secret, role + b"\0" + challenge + hello, "sha256")


def _receive(connection: socket.socket, count: int, deadline: float) -> bytes:
    data = b""
    while len(data) < count:
        # A peer that sends byte by byte does not get more time.
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        got = connection.recv(count - len(data))
        if not got:
            raise ChannelClosed("the other end hung up")
        data += got
    return data
