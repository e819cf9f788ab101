"""The notebook's end of one node's agent: what it was asked and answered, and which of its children have ended."""

import itertools
import threading
from pathlib import Path
from typing import Any

from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.authenticated_channel import AuthenticatedChannel
from autosync_lab.runtime.channel import ChannelClosed
from autosync_lab.runtime.log_tail import log_tail
from autosync_lab.runtime.node_report import NodeReport

ANSWER_S = 30.0
"""Seconds that an agent takes at most to answer what needs no work."""


class AgentConnection:
    """A conversation with an agent; any thread may ask.

    Parameters
    ----------
    node : str
        The agent's node.
    channel : AuthenticatedChannel
        The connection owns it.
    log : Path
        File of this machine with what the agent, and what started it, wrote.
    """

    def __init__(self, node: str, channel: AuthenticatedChannel, log: Path) -> None:
        self.node = node
        self._channel = channel
        self._log = log
        self._numbers = itertools.count()
        self._answers: dict[int, dict[str, Any]] = {}
        self._exits: dict[int, int] = {}
        self._report: NodeReport | None = None
        self._changed = threading.Condition()
        self._gone = False
        threading.Thread(target=self._listen, daemon=True, name=f"agent of {node}").start()

    @property
    def gone(self) -> bool:
        """True once the connection is closed."""
        return self._gone

    @property
    def report(self) -> NodeReport:
        """What the agent says of its node.

        Raises
        ------
        ClusterUnavailable
            If it says nothing.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._report or self._gone, timeout=ANSWER_S)
            if self._report is None:
                raise self._lost("says nothing of its node")
            return self._report

    def post(self, order: str, **details: Any) -> int:
        """Give an order; the number under which it is answered."""
        number = next(self._numbers)
        try:
            self._channel.send({"order": order, "number": number, **details})
        except ChannelClosed:
            raise self._lost(f"takes no order ({order})") from None
        return number

    def answer(self, number: int, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """The answer to an order.

        Raises
        ------
        ClusterUnavailable
            If the order failed, the agent is gone, or the timeout passes.
        """
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._gone, timeout=timeout_s)
            if number not in self._answers:
                raise self._lost(f"gave no answer within {timeout_s:.0f} s")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise ClusterUnavailable(f"the agent of node {self.node}: {answer['error']}", stage="agent")
        return answer

    def ask(self, order: str, **details: Any) -> dict[str, Any]:
        """Give an order that needs no work, and wait for its answer; errors as of `answer`."""
        return self.answer(self.post(order, **details))

    def exit_code(self, pid: int, timeout_s: float) -> int | None:
        """Exit code of a child that has ended; None if it has not within the timeout, or the agent is gone."""
        with self._changed:
            self._changed.wait_for(lambda: pid in self._exits or self._gone, timeout=timeout_s)
            return self._exits.get(pid)

    def tail(self, lines: int) -> str:
        """The end of what the agent, and what started it, wrote."""
        return log_tail(self._log, lines)

    def close(self) -> None:
        """Hang up: the agent ends, and its children with it."""
        self._channel.close()

    def _lost(self, what: str) -> ClusterUnavailable:
        if self._gone:
            what = "is gone"
        return ClusterUnavailable(f"the agent of node {self.node} {what}", stage="agent", stderr_tail=self.tail(30))

    def _listen(self) -> None:
        while True:
            try:
                message, _ = self._channel.receive()
            except ChannelClosed:
                with self._changed:
                    self._gone = True
                    self._changed.notify_all()
                return
            with self._changed:
                if "report" in message:
                    self._report = NodeReport.from_json(message["report"])
                elif "exited" in message:
                    self._exits[message["exited"]] = message["code"]
                else:
                    # A new child may get the pid of one that ended.
                    self._exits.pop(message.get("pid", 0), None)
                    self._answers[message["answers"]] = message
                self._changed.notify_all()
