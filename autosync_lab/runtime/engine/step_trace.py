"""TensorFlow's record of one step, as timeline events.

Lanes: `compute` (forward and backward of this replica), `push` and `pull` (transfers to and from a parameter server),
`all-reduce` (from when a group is handed to Horovod until its sum is back), `apply` (updates on this process).
"""

import re
from typing import Any

from autosync_lab.runtime.place import Place

COMPUTE_GAP_S = 1e-4
"""Computing with pauses shorter than this is one bar."""

_TRANSFER = re.compile(
    r"\[(?P<size>[^\]]*)\] .*?edge_\d+_(?P<source>\S+) "
    r"from \S*?/task:(?P<sender>\d+)/\S* to \S*?/task:(?P<receiver>\d+)/"
)
_SUFFIX = re.compile(r"(_\d+)?(/[^/]+)?$")


def step_events(step_stats: Any, place: Place) -> list[list[Any]]:
    """Events of one step.

    Parameters
    ----------
    step_stats : tf.compat.v1.StepStats
    place : Place
        The process whose session ran the step.

    Returns
    -------
    list of [lane, name, start, end]
        Seconds of the machine's clock.
    """
    events: list[list[Any]] = []
    computing: list[tuple[float, float]] = []
    for device in step_stats.dev_stats:
        here = f"/task:{place.index}/" in device.device
        for node in device.node_stats:
            start = node.all_start_micros * 1e-6
            end = start + node.all_end_rel_micros * 1e-6
            name = node.node_name
            if name == "RecvTensor":
                transfer = _transfer(node.timeline_label, place)
                if transfer is not None:
                    events.append([*transfer, start, end])
            elif here and name.startswith("compute/"):
                computing.append((start, end))
            elif here and name.startswith("allreduce/") and "Horovod" in node.timeline_label:
                events.append(["all-reduce", name.split("/")[1], start, end])
            elif here and name.startswith("apply/") and "Apply" in node.timeline_label:
                events.append(["apply", _shard(name), start, end])
    events += [["compute", "forward and backward", start, end] for start, end in _joined(computing)]
    return sorted(events, key=lambda e: (e[2], e[3], e[0], e[1]))


def _transfer(label: str, place: Place) -> tuple[str, str] | None:
    match = _TRANSFER.match(label)
    if match is None or match["size"] == "0B":
        return None
    source = match["source"]
    if source.startswith("push/") and int(match["sender"]) == place.index:
        return "push", _shard(source)
    if source.startswith("pull/") and int(match["receiver"]) == place.index:
        return "pull", _shard(source)
    return None


def _shard(name: str) -> str:
    """The shard in a name such as pull/dense/kernel>shard0_1/ReadVariableOp."""
    return _SUFFIX.sub("", name.split("/", 1)[1])


def _joined(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if joined and start - joined[-1][1] < COMPUTE_GAP_S:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
