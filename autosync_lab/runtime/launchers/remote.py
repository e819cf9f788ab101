"""What launchers for clusters of several machines share: an agent on each node calls back and forks the workers."""

import subprocess
import time
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.agent_connection import AgentConnection
from autosync_lab.runtime.command_port import CommandPort, address_towards
from autosync_lab.runtime.launchers.base import WORKER_ENVIRONMENT, Launcher, Machine, WorkerProcess
from autosync_lab.runtime.log_tail import log_tail
from autosync_lab.runtime.node_agent import Invitation
from autosync_lab.runtime.node_report import NodeReport, address_problems, installed_versions, version_problems
from autosync_lab.runtime.run_folder import RunFolder

CALL_BACK_S = 60.0
"""Seconds in which an agent calls back: to log in, and start Python from a disk that may be far away."""

IMPORT_S = 180.0
"""Seconds that the imports on a node may take: about 4 on an idle core, many times that on a busy machine."""

END_S = 5.0
"""Seconds that what started the agents has to end by itself."""


@dataclass
class RemoteProcess(WorkerProcess):
    """A process on a node; its `log` is that of the node's agent, and its own is read through the agent."""

    agent: AgentConnection
    name: str
    port: int

    def stderr_tail(self, lines: int = 30) -> str:
        try:
            return str(self.agent.ask("tail", name=self.name, lines=lines)["text"])
        except ClusterUnavailable as error:
            return str(error)


class RemoteLauncher(Launcher):
    """Has an agent started on each node, and processes forked by the agents.

    Parameters
    ----------
    cluster : ClusterSpec
    environment : dict of str to str
        Extra environment of the agents. Horovod reads some of its settings when it is loaded, which is there.
    """

    def __init__(self, cluster: ClusterSpec, environment: dict[str, str]) -> None:
        self.cluster = cluster
        self.environment = WORKER_ENVIRONMENT | environment
        self._folder: RunFolder | None = None
        self._port: CommandPort | None = None
        self._agents: dict[int, AgentConnection] = {}
        self._starters: dict[int, subprocess.Popen[bytes]] = {}

    @abstractmethod
    def start_agent(self, node: Node, invitation: Invitation, log: Path) -> "subprocess.Popen[bytes]":
        """Have `autosync_lab.runtime.node_agent` started on a node with an invitation that no other user sees, and what
        it writes go to `log`. What is returned ends when the agent has ended or could not be started."""

    @abstractmethod
    def failure(self, node: Node, code: int) -> str:
        """What it means that what `start_agent` returned for a node ended with an exit code."""

    def host(self, node: Node) -> str:
        """Name or address under which this machine reaches a node."""
        return node.name

    def open(self) -> None:
        try:
            self._bring_up()
        except BaseException:
            self.close()
            raise

    def mend(self) -> None:
        if len(self._running()) < len(self.cluster.nodes):
            self._bring_up()

    def survey(self) -> tuple[dict[str, NodeReport], dict[str, ClusterUnavailable]]:
        """Have the agents started that do not run.

        Returns
        -------
        reports : dict of str to NodeReport
            By name of each node whose agent runs.
        failures : dict of str to ClusterUnavailable
            By name of each other node: why not.

        Raises
        ------
        ClusterUnavailable
            If this machine has no address that reaches a node.
        """
        if self._folder is None:
            self._folder = RunFolder()
        if self._port is None:
            self._port = CommandPort(self._command_address())
        numbers, failures = {}, {}
        for index, node in enumerate(self.cluster.nodes):
            if index not in self._running():
                numbers[index] = self._port.expect()
                invitation = Invitation(
                    node.name, self._port.address, self._port.port, self._port.secret.hex(), numbers[index]
                )
                self._end_starter(index)
                starter = self.start_agent(node, invitation, self._log(index))
                self._starters[index] = starter
                self._folder.record(starter.pid)
        deadline = time.monotonic() + CALL_BACK_S
        reports = {}
        for index, node in enumerate(self.cluster.nodes):
            try:
                if index in numbers:
                    self._agents[index] = self._await_agent(index, numbers[index], deadline)
                reports[node.name] = self._agents[index].report
            except ClusterUnavailable as error:
                failures[node.name] = error
        return reports, failures

    def spawn(
        self,
        role: str,
        node: int | None,
        name: str,
        config: dict[str, Any],
        environment: dict[str, str],
    ) -> WorkerProcess:
        index = self._chief if node is None else node
        if self._port is None or index not in self._agents:
            raise ClusterUnavailable("this cluster is not open", stage="start")
        agent = self._agents[index]
        number = self._port.expect()
        try:
            answer = agent.ask("spawn", channel=number, role=role, name=name, config=config, environment=environment)
            channel = self._port.take(number, END_S)
        finally:
            self._port.forget(number)
        if channel is None:
            raise ClusterUnavailable(f"{name} has no channel", stage="start", stderr_tail=agent.tail(30))
        return RemoteProcess(channel, answer["pid"], self._log(index), agent, name, answer["port"])

    def kill(self, process: WorkerProcess) -> None:
        assert isinstance(process, RemoteProcess)
        try:
            process.agent.post("kill", pid=process.pid)
        except ClusterUnavailable:
            # Its children end with an agent.
            pass

    def exit_code(self, process: WorkerProcess, timeout_s: float) -> int | None:
        assert isinstance(process, RemoteProcess)
        return process.agent.exit_code(process.pid, timeout_s)

    def close(self) -> None:
        for agent in self._agents.values():
            agent.close()
        for index in list(self._starters):
            self._end_starter(index)
        if self._port is not None:
            self._port.close()
            self._port = None
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def address(self, node: int) -> str:
        return self._agents[node].report.address

    def rendezvous_address(self) -> str:
        return self.address(self._chief)

    def port(self, index: int, process: WorkerProcess) -> int:
        assert isinstance(process, RemoteProcess)
        return process.port

    def interface(self, node: int) -> str:
        return self._agents[node].report.interface

    def machine(self, node: int) -> Machine:
        report = self._agents[node].report
        return Machine(report.cores, report.memory_bytes, shared=False)

    def clock_ahead_s(self, node: int) -> float:
        def probe() -> tuple[float, float]:
            begin = time.time()
            there = float(self._agents[node].ask("clock")["seconds"])
            end = time.time()
            return end - begin, there - (begin + end) / 2

        # The quickest of a few answers was delayed least (as in NTP, RFC 5905).
        return min(probe() for _ in range(5))[1]

    def bytes_by_node(self) -> dict[str, tuple[int, int]] | None:
        try:
            answers = {a.node: a.ask("bytes") for a in self._agents.values()}
        except ClusterUnavailable:
            # A node that was lost fails the trial where it is waited for.
            return None
        return {node: (answer["sent"], answer["received"]) for node, answer in answers.items()}

    @property
    def _chief(self) -> int:
        return next(i for i, node in enumerate(self.cluster.nodes) if node.chief)

    def _running(self) -> set[int]:
        return {index for index, agent in self._agents.items() if not agent.gone}

    def _bring_up(self) -> None:
        reports, failures = self.survey()
        for error in failures.values():
            raise error
        problems = version_problems(reports, installed_versions())
        if problems:
            raise ClusterUnavailable("; ".join(problems), stage="versions")
        problems = address_problems(reports)
        if problems:
            raise ClusterUnavailable("; ".join(problems), stage="addresses")
        agents = list(self._agents.values())
        numbers = [agent.post("prepare") for agent in agents]
        versions = [a.answer(n, IMPORT_S)["versions"] for a, n in zip(agents, numbers, strict=True)]
        self.versions = versions[self._chief]

    def _command_address(self) -> str:
        addresses, errors = [], []
        for node in self.cluster.nodes:
            try:
                addresses.append(address_towards(self.host(node)))
            except OSError as error:
                errors.append(f"{self.host(node)}: {error}")
        if not addresses:
            raise ClusterUnavailable("this machine reaches no node", stage="start", stderr_tail="\n".join(errors))
        # This machine may be a node whose name it resolves to its own loopback.
        return next((a for a in addresses if not a.startswith("127.")), addresses[0])

    def _await_agent(self, index: int, number: int, deadline: float) -> AgentConnection:
        assert self._port is not None
        node, starter = self.cluster.nodes[index], self._starters[index]
        while time.monotonic() < deadline:
            channel = self._port.take(number, 0.1)
            if channel is not None:
                return AgentConnection(node.name, channel, self._log(index))
            code = starter.poll()
            if code is not None:
                self._port.forget(number)
                raise ClusterUnavailable(
                    self.failure(node, code), stage="start", stderr_tail=log_tail(self._log(index), 30)
                )
        self._port.forget(number)
        self._end_starter(index)
        raise ClusterUnavailable(
            f"node {node.name} did not call {self._port.address}:{self._port.port} within {CALL_BACK_S:.0f} s",
            stage="start",
            stderr_tail=log_tail(self._log(index), 30),
        )

    def _end_starter(self, index: int) -> None:
        starter = self._starters.pop(index, None)
        if starter is None:
            return
        if index in self._agents:
            self._agents.pop(index).close()
        else:
            starter.terminate()
        try:
            starter.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            starter.kill()
            starter.wait()

    def _log(self, index: int) -> Path:
        assert self._folder is not None
        return self._folder.path / f"agent{index}.log"
