"""An emulated network: each node a network namespace with its own address and rate-limited link to one switch.

The switch (a bridge) lives in the namespace of the fork server, each node in one of its own that a waiting process
holds. No name is registered with the system: when the processes are gone, so is all of it.
"""

import subprocess
from pathlib import Path

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.namespaces import UNSHARE, enter_command, wait_for_namespaces

SWITCH_ADDRESS = "10.77.255.254"
QUEUE_BYTES = 1024 * 1024
"""Bytes that wait at each end of a link before packets are dropped, unless the cluster's options say otherwise."""

RECEIVE_BYTES = 256 * 1024
"""Receive buffer of a connection, about twice its window: what several senders have under way to one receiver together
fits into its link's queue. So nearly nothing is dropped and sent again, and acknowledgements do not wait long behind
data, which would keep pushes and pulls from overlapping."""

CONGESTION_CONTROL = "reno"
"""TCP's congestion control on nodes, unless the cluster's options say otherwise. It is the one that every namespace may
set; BBR, some systems' default, ignores the drops of a short queue and then resends up to a quarter of the bytes."""

BURST_BYTES = 64 * 1024
"""Token bucket of each link: the smallest that passes one 64 KiB segmentation-offload packet at once."""


HOST = "autosync-lab-node"
"""Start of the host names that nodes have beside their own, which may be addresses or another node's default name."""

MTU_BYTES = 9000
"""Largest packet of the links: jumbo frames, as in data centres, so that headers take 1 percent of a link, not 5."""


class EmulatedNetwork:
    """The network of one emulated cluster.

    Parameters
    ----------
    switch_pid : int
        A process in the namespaces where the switch is built.
    cluster : ClusterSpec
        Its options may have `queue_bytes` (at each end of a link) and `congestion_control` (of each node's TCP).
    folder : Path
        For the hosts file that nodes see.
    """

    def __init__(self, switch_pid: int, cluster: ClusterSpec, folder: Path) -> None:
        self._switch_pid = switch_pid
        self._cluster = cluster
        self._hosts = folder / "hosts"
        self._holders: list[subprocess.Popen[bytes]] = []
        self.has_latency = True

    @property
    def congestion_control(self) -> str:
        """TCP's congestion control on the nodes."""
        return str(self._cluster.launcher_options.get("congestion_control", CONGESTION_CONTROL))

    @property
    def queue_bytes(self) -> int:
        """Bytes that may wait at each end of a link."""
        return int(self._cluster.launcher_options.get("queue_bytes", QUEUE_BYTES))

    def address(self, node: int) -> str:
        """Address of a node."""
        return f"10.77.{(node + 1) >> 8}.{(node + 1) & 255}"

    def namespace_pid(self, node: int) -> int:
        """A process that lives in a node's namespaces as long as the network does."""
        return self._holders[node].pid

    def build(self) -> None:
        """Make the switch and all nodes.

        Raises
        ------
        ClusterUnavailable
            If a command fails, with what it wrote.
        """
        nodes = self._cluster.nodes
        lines = ["127.0.0.1 localhost"] + [f"{self.address(i)} {HOST}{i} {n.name}" for i, n in enumerate(nodes)]
        self._hosts.write_text("\n".join(lines) + "\n")
        self._ip(
            self._switch_pid,
            ["link set lo up", "link add switch type bridge", "link set switch up"],
        )
        self._ip(self._switch_pid, [f"addr add {SWITCH_ADDRESS}/16 dev switch"])
        for index, node in enumerate(nodes):
            self._build_node(index, node)

    def set_link(self, node: int, up: bool) -> None:
        """Cut a node's link, or mend it."""
        self._ip(self._switch_pid, [f"link set link{node} {'up' if up else 'down'}"])

    def bytes_by_node(self) -> dict[str, tuple[int, int]]:
        """Bytes that each node's interface has sent and received since it was made."""
        return {node.name: self._interface_bytes(i) for i, node in enumerate(self._cluster.nodes)}

    def check(self, node: int) -> None:
        """Make sure that a node is there.

        Raises
        ------
        ClusterUnavailable
            If the process that holds its namespaces was ended: they are gone for good.
        """
        if self._holders[node].poll() is not None:
            name = self._cluster.nodes[node].name
            raise ClusterUnavailable(f"the network of node {name} is gone; open the cluster again", stage="network")

    def close(self) -> None:
        """Let the nodes vanish."""
        for holder in self._holders:
            assert holder.stdin is not None
            holder.stdin.close()
        for holder in self._holders:
            try:
                holder.wait(timeout=5)
            except subprocess.TimeoutExpired:
                holder.kill()
                holder.wait()
        self._holders.clear()

    def _build_node(self, index: int, node: Node) -> None:
        # `cat` ends when this process does, whatever way it ends: its input closes.
        holder = subprocess.Popen(
            [*enter_command(self._switch_pid), *UNSHARE, "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._holders.append(holder)
        wait_for_namespaces(holder, self._switch_pid)
        self._ip(
            self._switch_pid,
            [
                f"link add link{index} mtu {MTU_BYTES} type veth peer name eth0 mtu {MTU_BYTES} netns {holder.pid}",
                f"link set link{index} master switch up",
            ],
        )
        self._ip(
            holder.pid,
            [
                "link set lo up",
                f"addr add {self.address(index)}/16 dev eth0",
                "link set eth0 up",
            ],
        )
        self._limit(holder.pid, "eth0", node.up_gbps, node.latency_s)
        self._limit(self._switch_pid, f"link{index}", node.down_gbps, 0.0)
        self._run(holder.pid, ["mount", "--bind", str(self._hosts), "/etc/hosts"])
        self._run(holder.pid, ["hostname", f"{HOST}{index}"])
        self._run(
            holder.pid,
            [
                "sysctl",
                "-qw",
                f"net.ipv4.tcp_congestion_control={self.congestion_control}",
                # A connection that rested while the replicas computed starts at the speed that it had.
                "net.ipv4.tcp_slow_start_after_idle=0",
                f"net.ipv4.tcp_rmem=4096 65536 {self._receive_bytes(node)}",
            ],
        )

    def _receive_bytes(self, node: Node) -> int:
        # Where packets take long, more are on their way.
        if node.down_gbps == float("inf"):
            return 64 * RECEIVE_BYTES
        round_trip_s = 2 * (node.latency_s + max(n.latency_s for n in self._cluster.nodes))
        return max(RECEIVE_BYTES, round(4 * node.down_bytes_per_s * round_trip_s))

    def _limit(self, pid: int, interface: str, gbps: float, latency_s: float) -> None:
        if gbps < float("inf"):
            rate = f"{round(gbps * 1e9)}bit"
            limits = [
                "rate",
                rate,
                "burst",
                str(BURST_BYTES),
                "limit",
                str(self.queue_bytes),
            ]
            self._run(
                pid,
                [
                    "tc",
                    "qdisc",
                    "add",
                    "dev",
                    interface,
                    "root",
                    "handle",
                    "1:",
                    "tbf",
                    *limits,
                ],
            )
        if latency_s > 0:
            place = ["parent", "1:1"] if gbps < float("inf") else ["root"]
            delay = ["netem", "delay", f"{round(latency_s * 1e6)}us", "limit", "100000"]
            try:
                self._run(pid, ["tc", "qdisc", "add", "dev", interface, *place, *delay])
            except ClusterUnavailable as error:
                # A kernel without netem keeps packets waiting for nothing; records say so.
                if "kind is unknown" not in (error.stderr_tail or ""):
                    raise
                self.has_latency = False

    def _interface_bytes(self, node: int) -> tuple[int, int]:
        self.check(node)
        table = Path(f"/proc/{self._holders[node].pid}/net/dev").read_text()
        for line in table.splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == "eth0":
                fields = counters.split()
                return int(fields[8]), int(fields[0])
        raise ClusterUnavailable(f"node {self._cluster.nodes[node].name} has no interface", stage="network")

    def _ip(self, pid: int, commands: list[str]) -> None:
        self._run(pid, ["ip", "-batch", "-"], "\n".join(commands) + "\n")

    def _run(self, pid: int, command: list[str], text: str | None = None) -> None:
        try:
            done = subprocess.run(
                [*enter_command(pid), *command],
                input=text,
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClusterUnavailable(f"{command[0]} failed: {error}", stage="network") from None
        if done.returncode != 0:
            raise ClusterUnavailable(
                f"`{' '.join(command)}` failed with {done.returncode}",
                stage="network",
                stderr_tail=(text or "") + done.stderr[-2000:],
            )
