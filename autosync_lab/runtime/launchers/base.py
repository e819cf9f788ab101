"""The seam `Launcher`, and what it returns."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autosync_lab.runtime.channel import Channel
from autosync_lab.runtime.log_tail import log_tail

WORKER_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "1",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "CUDA_VISIBLE_DEVICES": "-1",
    "KERAS_BACKEND": "tensorflow",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "GRPC_VERBOSITY": "ERROR",
}
"""Environment of every process that imports TensorFlow for workers."""


@dataclass(frozen=True)
class Machine:
    """A machine that processes run on: its cores and memory, and whether all nodes of the cluster share it."""

    cores: int
    memory_bytes: int
    shared: bool


@dataclass
class WorkerProcess:
    """A started process: its channel, its pid, where its output goes."""

    channel: Channel
    pid: int
    log: Path

    def stderr_tail(self, lines: int = 30) -> str:
        """The end of what the process wrote."""
        return log_tail(self.log, lines)


class Launcher(ABC):
    """Starts processes on the nodes of one cluster.

    Life cycle: `open` once; then `spawn` for each process. After a failure the pool kills what was spawned, calls
    `mend`, and spawns again. `close` ends everything and leaves nothing behind; it may be called at any time, twice.
    """

    versions: dict[str, str] = {}
    """Versions of what the workers run; known once `open` has returned."""

    @abstractmethod
    def open(self) -> None:
        """Make ready. Raises `ClusterUnavailable` if that fails."""

    @abstractmethod
    def spawn(
        self,
        role: str,
        node: int | None,
        name: str,
        config: dict[str, Any],
        environment: dict[str, str],
    ) -> WorkerProcess:
        """Start one process on a node (None: where the rendezvous belongs)."""

    @abstractmethod
    def close(self) -> None:
        """End everything."""

    def mend(self) -> None:
        """Bring the nodes back to how `open` left them."""

    def kill(self, process: WorkerProcess) -> None:
        """End one process at once."""
        raise NotImplementedError

    def exit_code(self, process: WorkerProcess, timeout_s: float) -> int | None:
        """Exit code of a process that has ended (minus the signal that ended it), or None within the timeout."""
        raise NotImplementedError

    def address(self, node: int) -> str:
        """Address of a node, for its peers."""
        return "127.0.0.1"

    def rendezvous_address(self) -> str:
        """Address that the rendezvous listens on."""
        return "127.0.0.1"

    def port(self, index: int, process: WorkerProcess) -> int:
        """Port for the TensorFlow server of a process, which is number `index` of the cluster."""
        raise NotImplementedError

    def interface(self, node: int) -> str:
        """Network interface of a node that reaches its peers."""
        return "lo"

    def machine(self, node: int) -> Machine:
        """The machine that a node's processes run on."""
        return Machine(os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), shared=True)

    def clock_ahead_s(self, node: int) -> float:
        """Seconds that a node's clock is ahead of this machine's."""
        return 0.0

    def bytes_by_node(self) -> dict[str, tuple[int, int]] | None:
        """Bytes (sent, received) of each node's interface so far; None where nodes share one."""
        return None
