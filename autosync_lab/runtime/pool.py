"""The warm pool: all processes of a cluster, started once and restarted after a failure."""

import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, ClusterUnavailable
from autosync_lab.runtime.channel import ChannelBlocked, ChannelClosed
from autosync_lab.runtime.launchers.base import Launcher, WorkerProcess
from autosync_lab.runtime.place import Place, places_of

START_TIMEOUT_S = 60.0
"""Seconds for all processes to start their servers and find each other."""

SEND_TIMEOUT_S = 30
"""Seconds in which a process must take some bytes of a message."""

MEMORY_SHARE = 0.9
"""Share of the machine's memory that all processes on it together may allocate, unless the cluster says otherwise."""


class Cancelled(AutoSyncLabError):
    """Somebody asked to stop."""


class WorkerFailed(AutoSyncLabError):
    """A process of the pool failed, ended or went silent.

    Parameters
    ----------
    message : str
    stderr_tail : str
    exit_code : int, optional
        If the process has ended: its exit code, or minus the signal that ended it.
    """

    def __init__(self, message: str, stderr_tail: str = "", exit_code: int | None = None) -> None:
        self.stderr_tail = stderr_tail
        self.exit_code = exit_code
        super().__init__(message)


@dataclass(frozen=True)
class Answer:
    """What one process said: a message with bytes, or None when its channel closed."""

    index: int
    message: dict[str, Any] | None
    payload: bytes


class WorkerPool:
    """The processes of one cluster.

    Parameters
    ----------
    cluster : ClusterSpec
    launcher : Launcher
    role : str
        What the processes are: "worker", or "mirrored" for that peer.
    """

    def __init__(self, cluster: ClusterSpec, launcher: Launcher, role: str) -> None:
        self.cluster = cluster
        self.launcher = launcher
        self.places = places_of(cluster)
        self.processes: list[WorkerProcess] = []
        self._rendezvous: WorkerProcess | None = None
        self._role = role
        self.fusing = False
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._cancel = threading.Event()

    @property
    def up(self) -> bool:
        """True while all processes are started."""
        return bool(self.processes)

    def start(self, fusing: bool = False) -> None:
        """Start all processes.

        Parameters
        ----------
        fusing : bool
            Horovod fuses collectives as it likes. Else each of them travels by itself. It takes no other order while it
            runs.

        Raises
        ------
        ClusterUnavailable
            Naming the process that failed, with what it wrote.
        """
        self._answers = queue.SimpleQueue()
        self.fusing = fusing
        try:
            self._rendezvous = self.launcher.spawn(
                "rendezvous",
                None,
                "rendezvous",
                {"address": self.launcher.rendezvous_address()},
                {},
            )
            port = self._rendezvous.channel.receive()[0]["port"]
            for place in self.places:
                config = {"memory_bytes": self._memory_bytes(place)}
                process = self.launcher.spawn(self._role, place.node, self.name(place.index), config, {})
                process.channel.limit_sends(SEND_TIMEOUT_S)
                self.processes.append(process)
                threading.Thread(
                    target=self._listen,
                    args=(place.index, process, self._answers),
                    daemon=True,
                    name=self.name(place.index),
                ).start()
            addresses = [
                f"{self.launcher.address(p.node)}:{self.launcher.port(p.index, self.processes[p.index])}"
                for p in self.places
            ]
            for place in self.places:
                self.send(
                    place.index,
                    {
                        "order": "start",
                        "place": place.to_json(),
                        "addresses": addresses,
                        "threads": self._threads(place),
                        "horovod": self._horovod_environment(place, port),
                    },
                )
            self.collect("start", range(len(self.places)), START_TIMEOUT_S)
        except (WorkerFailed, ChannelClosed) as error:
            self.kill()
            tail = error.stderr_tail if isinstance(error, WorkerFailed) else ""
            raise ClusterUnavailable(str(error), stage="start", stderr_tail=tail) from None
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End all processes at once; `start` starts new ones."""
        processes = [*self.processes, *([self._rendezvous] if self._rendezvous else [])]
        for process in processes:
            process.channel.close()
            self.launcher.kill(process)
        for process in processes:
            self.launcher.exit_code(process, timeout_s=5)
        self.processes = []
        self._rendezvous = None

    def name(self, index: int) -> str:
        """How people call a process."""
        place = self.places[index]
        role = f"replica {place.rank}" if place.rank is not None else "server"
        return f"{role} on {place.nodes[place.node]}"

    def send(self, index: int, order: dict[str, Any], payload: bytes = b"") -> None:
        """Give one process an order.

        Raises
        ------
        WorkerFailed
            If it is gone, or takes no bytes.
        """
        process = self.processes[index]
        try:
            process.channel.send(order, payload)
        except ChannelBlocked:
            raise WorkerFailed(
                f"{self.name(index)} (pid {process.pid}) took no bytes for {SEND_TIMEOUT_S} s", process.stderr_tail()
            ) from None
        except ChannelClosed:
            raise self._ended(index) from None

    def ask_all(
        self,
        order: dict[str, Any],
        patience_s: float,
        payload: bytes = b"",
        on_message: Callable[[int, dict[str, Any]], None] | None = None,
    ) -> list[Answer]:
        """Give all processes one order and wait for all answers."""
        for index in range(len(self.processes)):
            self.send(index, order, payload)
        return self.collect(order["order"], range(len(self.processes)), patience_s, on_message)

    def collect(
        self,
        order: str,
        indices: Iterable[int],
        patience_s: float,
        on_message: Callable[[int, dict[str, Any]], None] | None = None,
    ) -> list[Answer]:
        """Wait until every process in `indices` has done `order`.

        Parameters
        ----------
        patience_s : float
            Seconds in which at least one process must say something.
        on_message : callable, optional
            Gets every other message: (index, message).

        Returns
        -------
        list of Answer
            In the order of the processes.

        Raises
        ------
        WorkerFailed
            If a process failed, ended, or all were silent for too long.
        Cancelled
            If `cancel` was called.
        """
        waiting = set(indices)
        said: dict[int, str] = {}
        answers: dict[int, Answer] = {}
        deadline = time.monotonic() + patience_s
        while waiting:
            if self._cancel.is_set():
                raise Cancelled("stopped on request")
            try:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise self._silent(order, patience_s, waiting, said) from None
            if answer is None:
                continue
            if answer.message is None:
                raise self._ended(answer.index)
            if "error" in answer.message:
                tail = self.processes[answer.index].stderr_tail()
                raise WorkerFailed(f"{self.name(answer.index)}: {answer.message['error']}", tail)
            if answer.message.get("done") == order:
                waiting.discard(answer.index)
                answers[answer.index] = answer
            else:
                if "step" in answer.message:
                    said[answer.index] = f"after step {answer.message['step']}"
                if on_message is not None:
                    on_message(answer.index, answer.message)
            # What `on_message` took is not the processes' silence.
            deadline = time.monotonic() + patience_s
        return [answers[i] for i in sorted(answers)]

    def cancel(self) -> None:
        """Make the present or next `collect` raise `Cancelled`; callable from any thread."""
        self._cancel.set()
        self._answers.put(None)

    def clear_cancel(self) -> None:
        """Forget a `cancel`."""
        self._cancel.clear()

    def _listen(
        self,
        index: int,
        process: WorkerProcess,
        answers: "queue.SimpleQueue[Answer | None]",
    ) -> None:
        while True:
            try:
                message, payload = process.channel.receive()
            except ChannelClosed:
                answers.put(Answer(index, None, b""))
                return
            answers.put(Answer(index, message, payload))

    def _ended(self, index: int) -> WorkerFailed:
        process = self.processes[index]
        code = self.launcher.exit_code(process, timeout_s=2)
        if code is None:
            how = "closed its channel"
        elif code < 0:
            how = f"was ended by signal {-code}"
        else:
            how = f"exited with code {code}"
        limit = self.cluster.nodes[self.places[index].node].memory_gib
        if limit is not None:
            how += f"; its memory_gib is {limit:g}, of which TensorFlow alone takes more than 1"
        return WorkerFailed(f"{self.name(index)} (pid {process.pid}) {how}", process.stderr_tail(), code)

    def _silent(self, order: str, patience_s: float, waiting: set[int], said: dict[int, str]) -> WorkerFailed:
        who = [f"{self.name(i)} (pid {self.processes[i].pid}, {said.get(i, 'no step yet')})" for i in sorted(waiting)]
        tails = [f"[{self.name(i)}]\n{tail}" for i in sorted(waiting) if (tail := self.processes[i].stderr_tail(8))]
        return WorkerFailed(
            f"no process said anything for {patience_s:.0f} s; waiting for: {', '.join(who)}",
            "\n".join(tails),
        )

    def _memory_bytes(self, place: Place) -> int:
        limit = self.cluster.nodes[place.node].memory_gib
        if limit is not None:
            return int(limit * 2**30)
        return int(MEMORY_SHARE * self.launcher.machine(place.node).memory_bytes / self._sharers(place))

    def _threads(self, place: Place) -> int:
        return max(1, self.launcher.machine(place.node).cores // self._sharers(place))

    def _sharers(self, place: Place) -> int:
        """How many processes share the machine of one."""
        return len(self.places) if self.launcher.machine(place.node).shared else place.processes_on(place.node)

    def _horovod_environment(self, place: Place, port: int) -> dict[str, str]:
        if place.rank is None:
            return {}
        siblings = [i for i, node in enumerate(place.node_of_process) if node == place.node]
        nodes = place.worker_nodes
        return {
            "HOROVOD_RANK": str(place.rank),
            "HOROVOD_SIZE": str(place.replicas),
            "HOROVOD_LOCAL_RANK": str(siblings.index(place.index)),
            "HOROVOD_LOCAL_SIZE": str(len(siblings)),
            "HOROVOD_CROSS_RANK": str(nodes.index(place.node)),
            "HOROVOD_CROSS_SIZE": str(len(nodes)),
            "HOROVOD_HOSTNAME": place.nodes[place.node],
            "HOROVOD_CONTROLLER": "gloo",
            "HOROVOD_CPU_OPERATIONS": "gloo",
            "HOROVOD_GLOO_IFACE": self.launcher.interface(place.node),
            "HOROVOD_GLOO_RENDEZVOUS_ADDR": self.launcher.rendezvous_address(),
            "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
            # Horovod's ranks talk at every tick, also while they have nothing to reduce: at its default of 1 ms that is
            # half a megabyte per second and node, and a good part of a core shared by several nodes.
            "HOROVOD_CYCLE_TIME": "5",
            # Set, it turns off all fusion but that inside groups, also that of collectives which are in no group.
            "HOROVOD_DISABLE_GROUP_FUSION": "0" if self.fusing else "1",
            # What the cache holds is compared at every tick. A pool that measures one strategy after the other fills it
            # with collectives that never come again: from then on its idle ranks take half of two cores.
            "HOROVOD_CACHE_CAPACITY": "1024" if self.fusing else "0",
        }
