"""The seam `Launcher`, and what it returns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autosync_lab.runtime.channel import Channel


@dataclass
class WorkerProcess:
    """A started process: its channel, its pid, where its output goes."""

    channel: Channel
    pid: int
    log: Path

    def stderr_tail(self, lines: int = 30) -> str:
        """The end of what the process wrote."""
        try:
            with open(self.log, "rb") as log:
                log.seek(max(0, self.log.stat().st_size - 32_768))
                text = log.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


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

    def port(self, process: int) -> int:
        """Port for the TensorFlow server of a process."""
        raise NotImplementedError

    def interface(self) -> str:
        """Network interface that reaches the peers."""
        return "lo"

    def bytes_by_node(self) -> dict[str, tuple[int, int]] | None:
        """Bytes (sent, received) of each node's interface so far; None where nodes share one."""
        return None
