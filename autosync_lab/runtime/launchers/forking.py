"""What `local` and `emulated` share: processes forked from a fork server in namespaces of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.channel import Channel
from autosync_lab.runtime.fork_server import PACKET_BYTES
from autosync_lab.runtime.launchers.base import WORKER_ENVIRONMENT, Launcher, WorkerProcess
from autosync_lab.runtime.namespaces import wait_for_namespaces
from autosync_lab.runtime.run_folder import RunFolder

START_TIMEOUT_S = 120.0
"""Seconds that the imports may take: about 4 on an idle core, many times that on a busy machine."""

FIRST_PORT = 40_000
"""First port of TensorFlow's servers: the namespace is private, so any port is free."""


class ForkingLauncher(Launcher):
    """Forks processes from one fork server.

    Parameters
    ----------
    command_prefix : tuple of str
        Starts the fork server in namespaces of its own.
    environment : dict of str to str
        Extra environment of the fork server. Horovod reads some of its settings when it is loaded, which is there.
    """

    def __init__(self, command_prefix: tuple[str, ...], environment: dict[str, str]) -> None:
        self._prefix = command_prefix
        self._environment = environment
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder: RunFolder | None = None
        self._exits: dict[int, int] = {}
        self._forked: dict[int, int] = {}
        self._orders = 0
        self._changed = threading.Condition()
        self._gone = False

    @property
    def folder(self) -> Path:
        """The folder of this run: logs, hosts file."""
        assert self._folder is not None
        return self._folder.path

    @property
    def server_pid(self) -> int:
        """Pid of the fork server."""
        assert self._server is not None
        return self._server.pid

    def open(self) -> None:
        self._folder = RunFolder()
        self._gone = False
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = (
            os.environ
            | WORKER_ENVIRONMENT
            | {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "-1")}
            | self._environment
        )
        # A proxy meant for the outside world must not carry the cluster's own traffic.
        environment = {k: v for k, v in environment.items() if not k.lower().endswith("_proxy")}
        with open(self.folder / "fork-server.log", "wb") as log:
            self._server = subprocess.Popen(
                [
                    *self._prefix,
                    sys.executable,
                    "-m",
                    "autosync_lab.runtime.fork_server",
                    str(theirs.fileno()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        theirs.close()
        self._control = ours
        self._folder.record(self._server.pid)
        try:
            try:
                wait_for_namespaces(self._server, os.getpid())
            except ClusterUnavailable as error:
                raise ClusterUnavailable(str(error), stage="start", stderr_tail=self._server_log()) from None
            self.prepare()
            ours.settimeout(START_TIMEOUT_S)
            packet = ours.recv(PACKET_BYTES)
            ours.settimeout(None)
            if not packet:
                raise ClusterUnavailable(
                    "the fork server ended",
                    stage="start",
                    stderr_tail=self._server_log(),
                )
        except TimeoutError:
            self.close()
            raise ClusterUnavailable(f"the imports took over {START_TIMEOUT_S:.0f} s", stage="start") from None
        except BaseException:
            self.close()
            raise
        self.versions = json.loads(packet)["ready"]
        threading.Thread(target=self._listen, args=(ours,), daemon=True, name="fork-server").start()

    def prepare(self) -> None:
        """Make ready what the processes need, while the fork server imports."""

    def spawn(
        self,
        role: str,
        node: int | None,
        name: str,
        config: dict[str, Any],
        environment: dict[str, str],
    ) -> WorkerProcess:
        if self._control is None or self._gone:
            raise ClusterUnavailable("the fork server is gone", stage="start", stderr_tail=self._server_log())
        ours, theirs = socket.socketpair()
        log = self.folder / f"{name}.log"
        with self._changed:
            self._orders += 1
            number = self._orders
        order = {
            "number": number,
            "role": role,
            "log": str(log),
            "namespace_pid": self.namespace_pid(node),
            "config": config,
            "environment": environment,
        }
        with theirs:
            socket.send_fds(self._control, [json.dumps(order).encode()], [theirs.fileno()])
        with self._changed:
            self._changed.wait_for(lambda: number in self._forked or self._gone, timeout=30)
            if number not in self._forked:
                raise ClusterUnavailable(
                    "the fork server does not fork",
                    stage="start",
                    stderr_tail=self._server_log(),
                )
            return WorkerProcess(Channel(ours), self._forked.pop(number), log)

    def mend(self) -> None:
        if self._server is None or self._server.poll() is not None:
            self.close()
            self.open()

    def namespace_pid(self, node: int | None) -> int | None:
        """A process in the namespaces of a node; None for those of the fork server."""
        return None

    def kill(self, process: WorkerProcess) -> None:
        with self._changed:
            if process.pid in self._exits or self._gone:
                return
        # The fork server waits for its children, so the pid is still this child's.
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def exit_code(self, process: WorkerProcess, timeout_s: float) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: process.pid in self._exits or self._gone, timeout=timeout_s)
            return self._exits.get(process.pid)

    def port(self, index: int, process: WorkerProcess) -> int:
        return FIRST_PORT + index

    def close(self) -> None:
        if self._control is not None:
            try:
                self._control.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._control.close()
            self._control = None
        if self._server is not None:
            try:
                self._server.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def _listen(self, control: socket.socket) -> None:
        while True:
            try:
                packet = control.recv(PACKET_BYTES)
            except OSError:
                packet = b""
            with self._changed:
                if not packet:
                    self._gone = True
                    self._changed.notify_all()
                    return
                message = json.loads(packet)
                if "forked" in message:
                    self._forked[message["forked"]] = message["pid"]
                else:
                    self._exits[message["exited"]] = message["code"]
                self._changed.notify_all()

    def _server_log(self) -> str:
        try:
            return (self.folder / "fork-server.log").read_text(errors="replace")[-3000:]
        except (OSError, AssertionError):
            return ""
