"""`Calibration`: the constants of a cluster that its specification does not say."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.user_file import read_text_file

FORMAT_VERSION = 1

MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True)
class Calibration:
    """What a byte, a message and an operation cost on one cluster.

    The defaults describe machines with data-centre GPUs that talk TCP; `autosync-lab calibrate` measures those of a
    cluster at hand.

    Parameters
    ----------
    link_efficiency : float
        The part of a link's bandwidth that carries gradients: the rest is headers and the gaps of congestion control.
    stream_bytes_per_s : float
        What one TCP connection carries at most. A ring all-reduce has one connection over each link, parameter servers
        one for each replica and server.
    window_nbytes : float
        What one connection has under way at most. The small messages of a collective wait behind that of every
        connection that fills one of its links with pushes or pulls.
    latency_s : float
        One way, from a message's start to its first byte's arrival, added to the nodes' own `latency_s`.
    flops_per_s : float
        Floating-point operations per second of one replica, where a model has no measured compute time.
    compute_slowdown : float
        How much slower all replicas compute at the same time than one alone: above 1 where they share cores.
    push_s, pull_s, apply_s : float
        Time of a process for each shard that it pushes, pulls, or updates as its server.
    server_s_per_byte : float
        Time of a process for each byte that it pushes, pulls, or receives as a server.
    rows_s : float
        More time for each shard of a sparse variable that is pushed: its rows are merged and sorted out first.
    acknowledge_s : float
        From when a push has arrived until its replica knows, and may start another one where a push credit keeps it.
    collective_s : float
        Until all replicas have agreed on what is ready; collectives that are ready by then need no agreement of their
        own.
    exchange_s : float
        Time of each collective, however small.
    tensor_s : float
        Time of each tensor in a collective.
    reduce_s_per_byte : float
        Time for each byte of a gradient that is copied, summed and applied.
    fp16_s_per_byte, bf16_s_per_byte : float
        More time for each byte of a gradient, before it is narrowed, that is cast to that format, summed in it, and
        cast back; CPUs have no instructions for sums in bfloat16.
    feedback_s_per_byte : float
        More time where the rounding error is kept for the next step.
    cycle_s : float
        Horovod looks for what is ready once in this time.
    contention : float
        How much a process's work for servers and its work for collectives delay each other: 0 where each has cores of
        its own, 1 where all of the lesser one comes on top.
    step_s : float
        Time of a step that belongs to nothing else.
    """

    link_efficiency: float = 0.95
    stream_bytes_per_s: float = 1.25e9
    window_nbytes: float = 65536.0
    latency_s: float = 50e-6
    flops_per_s: float = 5e12
    compute_slowdown: float = 1.0
    push_s: float = 40e-6
    pull_s: float = 40e-6
    apply_s: float = 40e-6
    server_s_per_byte: float = 2e-11
    rows_s: float = 40e-6
    acknowledge_s: float = 50e-6
    collective_s: float = 200e-6
    exchange_s: float = 100e-6
    tensor_s: float = 10e-6
    reduce_s_per_byte: float = 2e-11
    fp16_s_per_byte: float = 1e-11
    bf16_s_per_byte: float = 1e-11
    feedback_s_per_byte: float = 2e-11
    cycle_s: float = 1e-3
    contention: float = 0.0
    step_s: float = 1e-3

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise InvalidInput("a constant is a number of 0 or more", where=field.name, received=value)
        for name in ("link_efficiency", "stream_bytes_per_s", "flops_per_s", "compute_slowdown"):
            if getattr(self, name) == 0:
                raise InvalidInput("this constant is above 0", where=name, received=0)

    def to_json(self) -> dict[str, Any]:
        """Versioned JSON document."""
        return {"format": "autosync-lab/calibration", "version": FORMAT_VERSION} | asdict(self)

    @classmethod
    def typical(cls, cluster: ClusterSpec) -> "Calibration":
        """What a cluster of this launcher typically costs, before it is calibrated.

        Processes that share one machine's cores pay far more for each operation than those on machines of their own;
        those constants are what `autosync-lab calibrate` finds for the emulated presets on two cores.
        """
        return SHARED_MACHINE if cluster.launcher in ("local", "emulated") else cls()

    @classmethod
    def from_json(cls, document: Any, *, where: str | None = None) -> "Calibration":
        """Inverse of `to_json`.

        Raises
        ------
        InvalidInput
            Naming the first field that is unknown or wrong.
        """
        if not isinstance(document, dict) or document.get("format") != "autosync-lab/calibration":
            raise InvalidInput("this is no calibration", where=where)
        if document.get("version") != FORMAT_VERSION:
            raise InvalidInput(
                f"this version reads calibrations of version {FORMAT_VERSION}",
                where=where,
                received=document.get("version"),
            )
        known = [field.name for field in fields(cls)]
        constants = {k: v for k, v in document.items() if k not in ("format", "version")}
        for name in constants:
            if name not in known:
                raise InvalidInput("unknown constant", where=where, received=name, valid=known)
        return cls(**constants)

    @classmethod
    def read(cls, path: str | Path) -> "Calibration":
        """The calibration in a JSON file.

        Raises
        ------
        InvalidInput
            If it cannot be read, or as `from_json` does.
        """
        text = read_text_file(Path(path), MAX_FILE_BYTES, "a calibration", InvalidInput)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"this is no JSON: {error}", where=str(path)) from None
        return cls.from_json(document, where=str(path))


SHARED_MACHINE = Calibration(
    link_efficiency=0.99,
    stream_bytes_per_s=1e12,
    window_nbytes=131072.0,
    latency_s=2e-4,
    flops_per_s=2e10,
    compute_slowdown=1.7,
    push_s=3.5e-4,
    pull_s=6e-4,
    apply_s=3e-4,
    server_s_per_byte=8.7e-10,
    rows_s=1e-3,
    acknowledge_s=6e-3,
    collective_s=3.8e-3,
    exchange_s=3.3e-3,
    tensor_s=8e-5,
    reduce_s_per_byte=6.2e-10,
    fp16_s_per_byte=4.6e-10,
    bf16_s_per_byte=1.1e-8,
    feedback_s_per_byte=2.4e-9,
    cycle_s=1.4e-3,
    contention=0.85,
    step_s=6.6e-3,
)
