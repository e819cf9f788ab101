"""Two machines as far as programs can tell: network namespaces with an address, a host name and a real `sshd` each."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import psutil

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.runtime.emulated_network import EmulatedNetwork
from autosync_lab.runtime.linux import enter_namespaces
from autosync_lab.runtime.namespaces import UNSHARE, enter_command, wait_for_namespaces

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
REPOSITORY = Path(__file__).parents[2]

SECOND_GBPS = 0.5
"""The second node's link; nothing limits the first one's."""

Result = TypeVar("Result")


def why_not() -> str | None:
    """Why such nodes cannot be made here."""
    if SSHD is None or shutil.which("ssh") is None:
        return "there is no sshd (Debian's openssh-server) or no ssh"
    if os.geteuid() != 0:
        return "sshd lets others log in only as root"
    return None


class SshNodes:
    """Two nodes on one switch; what runs by `inside` is on the switch, as a notebook on a third machine would be.

    Parameters
    ----------
    folder : Path
        For keys, logs and the user's ssh configuration.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.node_folder = folder / "node-tmp"
        self.node_folder.mkdir()
        self.key = folder / "key"
        self._stack = ExitStack()
        self._sshds: list[subprocess.Popen[bytes]] = []
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def inside(self, function: Callable[[], Result]) -> Result:
        """What a function returns that runs in the network of the switch."""
        return self._thread.submit(function).result()

    def address(self, node: int) -> str:
        """Address of a node."""
        return self.network.address(node)

    def cluster(self, *nodes: int, **group: Any) -> ClusterSpec:
        """A cluster of some nodes, one replica each; `group` changes the ssh group of the last one."""
        plain = {
            "username": "root",
            "key_file": str(self.key),
            "shared_envs": {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(self.node_folder)},
        }
        groups = {"plain": plain, "changed": plain | group}
        names = ["plain"] * (len(nodes) - 1) + ["changed"]
        entries = tuple(Node(self.address(n), ssh=g) for n, g in zip(nodes, names, strict=True))
        return ClusterSpec("two-machines", entries, "ssh", ssh=groups)

    def processes(self, node: int) -> list[psutil.Process]:
        """What runs on a node, but for its ssh server and what holds it."""
        own = {self.network.namespace_pid(node), self._sshds[node].pid}
        network = os.readlink(f"/proc/{self.network.namespace_pid(node)}/ns/net")
        found = []
        for process in psutil.process_iter():
            try:
                if os.readlink(f"/proc/{process.pid}/ns/net") == network and process.pid not in own:
                    found.append(process)
            except OSError:
                pass
        return found

    def know_hosts(self, known: bool) -> None:
        """Let the user know the nodes' host keys, or not."""
        lines = []
        if known:
            lines = [f"{self.address(n)} {(self.folder / f'host{n}.pub').read_text()}" for n in range(2)]
        (self.folder / "known_hosts").write_text("".join(lines))

    def new_key(self, name: str) -> Path:
        """A new key, without a passphrase."""
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
        return path

    def close(self) -> None:
        """Let all of it vanish."""
        self._stack.close()

    def _build(self) -> None:
        switch = subprocess.Popen([*UNSHARE, "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._stack.callback(_end, switch)
        wait_for_namespaces(switch, os.getpid())
        second = Node("machine1", up_gbps=SECOND_GBPS, down_gbps=SECOND_GBPS)
        links = ClusterSpec("links", (Node("machine0"), second), "emulated")
        self.network = EmulatedNetwork(switch.pid, links, self.folder)
        self._stack.callback(self.network.close)
        self.network.build()
        # One thread enters the network: the rest of this process stays where it is.
        self._thread = ThreadPoolExecutor(1, initializer=enter_namespaces, initargs=(switch.pid, ("net",)))
        self._stack.callback(self._thread.shutdown)
        self.new_key("key")
        (self.folder / "authorized").write_text((self.folder / "key.pub").read_text())
        for node in range(2):
            self._start_sshd(node)
        self.know_hosts(True)
        self._write_ssh()

    def _start_sshd(self, node: int) -> None:
        configuration = self.folder / f"sshd{node}.conf"
        configuration.write_text(
            f"HostKey {self.new_key(f'host{node}')}\n"
            f"AuthorizedKeysFile {self.folder / 'authorized'}\n"
            "StrictModes no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n"
        )
        # sshd wants a folder below /run; the node has a /run of its own.
        script = 'mount -t tmpfs run /run && mkdir -m 755 /run/sshd && exec "$@"'
        log = self.folder / f"sshd{node}.log"
        enter = enter_command(self.network.namespace_pid(node))
        serve = (str(SSHD), "-D", "-e", "-f", str(configuration))
        with open(log, "wb") as output:
            sshd = subprocess.Popen([*enter, "sh", "-c", script, "sh", *serve], stdout=output, stderr=output)
        self._stack.callback(_end, sshd)
        self._sshds.append(sshd)
        while "Server listening" not in log.read_text():
            assert sshd.poll() is None, log.read_text()
            time.sleep(0.02)

    def _write_ssh(self) -> None:
        """The user's ssh configuration, and an `ssh` that reads it instead of the one of who runs the tests."""
        (self.folder / "ssh_config").write_text(
            f"UserKnownHostsFile {self.folder / 'known_hosts'}\nGlobalKnownHostsFile /dev/null\n"
            "IdentitiesOnly yes\nIdentityAgent none\n"
        )
        programs = self.folder / "bin"
        programs.mkdir()
        program = programs / "ssh"
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder / "ssh_config"} "$@"\n')
        program.chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{programs}:{path}"
        self._stack.callback(os.environ.__setitem__, "PATH", path)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
