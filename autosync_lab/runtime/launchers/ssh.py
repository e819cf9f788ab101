"""`ssh`: nodes are machines that the system's `ssh` logs in to without asking.

Keys, known hosts and everything else that ~/.ssh/config says stay the user's: nothing of it is overridden.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from autosync_lab.cluster.spec import Node
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.launchers.remote import RemoteLauncher
from autosync_lab.runtime.node_agent import Invitation

CONNECT_S = 10
"""Seconds in which a node's ssh server answers."""

SSH_FAILED = 255
NOT_RUNNABLE = (126, 127)
"""Exit codes of `ssh` for its own failures, and of shells for programs that they cannot run."""

BOOTSTRAP = (
    "import json,os,sys;"
    "e={k:v for k,v in os.environ.items() if not k.lower().endswith('_proxy')};"
    "e.update(json.loads(os.fdopen(0,'rb',0,closefd=False).readline()));"
    "os.execve(sys.executable,[sys.executable,'-m','autosync_lab.runtime.node_agent'],e)"
)
"""What a node's Python runs: it takes its environment from the first line of standard input, for arguments can be seen
by every user of the node, and becomes the agent, which reads the second."""

_PATH = re.compile(r"[\w@%+=:,./~-]+")


class SshLauncher(RemoteLauncher):
    """Agents started by `ssh`, one connection for each node.

    A node's ssh group may have `username`, `port`, `key_file`, `shared_envs` (environment of the node's processes) and
    `python_venv`: the folder of a virtual environment, or, as in AutoDist, a command for the node's shell that makes
    `python` the right one. Without it the node's Python is where this one is.
    """

    def start_agent(self, node: Node, invitation: Invitation, log: Path) -> "subprocess.Popen[bytes]":
        shared = {name: str(value) for name, value in self._group(node).get("shared_envs", {}).items()}
        # A file of the login folder must not be imported in place of a module.
        environment = self.environment | {"PYTHONSAFEPATH": "1"} | shared
        with open(log, "wb") as output:
            try:
                starter = subprocess.Popen(
                    [*self.login_command(node), self.remote_command(node)],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise ClusterUnavailable(f"ssh cannot be run: {error}", stage="start") from None
        assert starter.stdin is not None
        try:
            with starter.stdin as told:
                told.write(json.dumps(environment).encode() + b"\n" + invitation.to_line())
        except BrokenPipeError:
            # It has ended already; its exit code and log say why.
            pass
        return starter

    def failure(self, node: Node, code: int) -> str:
        if code == SSH_FAILED:
            return f"node {node.name} cannot be logged in to: `{shlex.join(self.login_command(node))}` failed"
        if code in NOT_RUNNABLE:
            return (
                f"node {node.name} cannot run {self._python(node)}; `python_venv` of its ssh group says where Python is"
            )
        return f"the agent of node {node.name} ended with code {code} before it called back"

    def host(self, node: Node) -> str:
        # Names may be aliases of the user's ssh configuration.
        try:
            done = subprocess.run(
                ["ssh", "-G", *self._options(node), "--", node.name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=CONNECT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClusterUnavailable(f"ssh cannot be run: {error}", stage="start") from None
        for line in done.stdout.splitlines():
            key, _, value = line.partition(" ")
            if key == "hostname":
                return value
        raise ClusterUnavailable(
            f"ssh refuses its configuration for node {node.name}", stage="start", stderr_tail=done.stderr[-2000:]
        )

    def login_command(self, node: Node) -> list[str]:
        """The arguments that log in to a node; what the node shall run comes after them."""
        return [
            "ssh",
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            f"ConnectTimeout={CONNECT_S}",
            *self._options(node),
            "--",
            node.name,
        ]

    def remote_command(self, node: Node) -> str:
        """What the node's shell runs."""
        python = shlex.join([self._python(node), "-I", "-c", BOOTSTRAP])
        before = self._group(node).get("python_venv", "")
        return f"{before} && exec {python}" if before and not _is_folder(before) else f"exec {python}"

    def _python(self, node: Node) -> str:
        folder = self._group(node).get("python_venv")
        if not folder:
            return sys.executable
        if not _is_folder(folder):
            return "python"
        # A login starts in the home folder, and the quoted `~` would stay one.
        return f"{folder.removeprefix('~/').rstrip('/')}/bin/python"

    def _options(self, node: Node) -> list[str]:
        group = self._group(node)
        options = []
        for option, field in (("-l", "username"), ("-p", "port")):
            if field in group:
                options += [option, str(group[field])]
        if "key_file" in group:
            options += ["-i", str(Path(group["key_file"]).expanduser())]
        return options

    def _group(self, node: Node) -> dict[str, Any]:
        return self.cluster.ssh[node.ssh] if node.ssh is not None else {}


def _is_folder(python_venv: str) -> bool:
    return _PATH.fullmatch(python_venv) is not None
