"""What a lock becomes when a choice is clicked."""

from collections.abc import Mapping
from typing import Any

_SERVED = ("destination", "local_replication")
_REDUCED = ("compressor", "sparse_as")
"""Choices that only a parameter server, or only an all-reduce, has."""


def toggled_lock(lock: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, Any]:
    """A lock with a choice added, or without it if it was there.

    What contradicts an added choice goes: a destination does not stay with an all-reduce, nor a compressor with rows.

    Parameters
    ----------
    lock, choice : mapping
        As `StrategySpace.lock` takes them.
    """
    if choice.items() <= lock.items():
        return {k: v for k, v in lock.items() if k not in choice}
    dropped = set(choice)
    kind = choice.get("synchronizer")
    if kind == "ar" or set(choice) & set(_REDUCED):
        dropped |= {"synchronizer", *_SERVED}
    elif kind == "ps" or set(choice) & set(_SERVED):
        dropped |= {"synchronizer", *_REDUCED}
    if choice.get("sparse_as") == "gather":
        dropped.add("compressor")
    elif choice.get("compressor", "none") != "none" and lock.get("sparse_as") == "gather":
        dropped.add("sparse_as")
    return {k: v for k, v in lock.items() if k not in dropped} | dict(choice)
