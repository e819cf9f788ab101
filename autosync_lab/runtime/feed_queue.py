"""The worker's end of a feed: batches that came while the present step ran."""

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from autosync_lab.runtime.array_archive import unpack
from autosync_lab.runtime.channel import Channel, ChannelClosed

FEED_AHEAD = 4
"""Steps whose batches may be under way or waiting at a worker."""


class FeedQueue:
    """Batches in the order in which they come, until the client says that there are no more.

    While it is iterated it alone reads the channel, in a thread of its own: `{"order": "feed"}` with a batch for each
    step (none for a process without a replica), then `{"order": "feed", "last": true}` without one.

    Parameters
    ----------
    channel : Channel
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._batches: queue.Queue[bytes | ChannelClosed | None] = queue.Queue(FEED_AHEAD)

    def __iter__(self) -> Iterator[list[npt.NDArray[Any]]]:
        threading.Thread(target=self._read, daemon=True, name="feed").start()
        while (payload := self._batches.get()) is not None:
            if isinstance(payload, ChannelClosed):
                raise payload
            yield [array for _, array in unpack(payload)] if payload else []

    def _read(self) -> None:
        try:
            while True:
                message, payload = self._channel.receive()
                if message.get("order") != "feed":
                    raise ChannelClosed(f"{message.get('order')!r} came while a feed was not over")
                if message.get("last"):
                    self._batches.put(None)
                    return
                self._batches.put(payload)
        except ChannelClosed as error:
            self._batches.put(error)
