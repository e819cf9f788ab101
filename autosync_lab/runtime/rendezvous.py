"""Horovod's rendezvous: where the workers of one start find each other."""

import threading
from typing import Any

from autosync_lab.runtime.channel import Channel, ChannelClosed


def serve_rendezvous(channel: Channel, config: dict[str, Any]) -> int:
    """Serve Horovod's key-value store on one address until the client's end of the channel closes.

    `config` has `address`; the port is told over the channel.
    """
    from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

    # Horovod's own RendezvousServer would listen on every interface.
    server = RendezvousHTTPServer((config["address"], 0), RendezvousHandler, 0)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    channel.send({"port": server.server_address[1]})
    try:
        channel.receive()
    except ChannelClosed:
        pass
    server.shutdown()
    return 0
