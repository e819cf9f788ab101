"""`emulated`: every node a network namespace with its own address and rate-limited link."""

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.emulated_network import SWITCH_ADDRESS, EmulatedNetwork
from autosync_lab.runtime.launchers.forking import ForkingLauncher
from autosync_lab.runtime.namespaces import unshare_command


class EmulatedLauncher(ForkingLauncher):
    """Processes in the namespaces of emulated nodes; needs root or unprivileged user namespaces."""

    def __init__(self, cluster: ClusterSpec, environment: dict[str, str]) -> None:
        prefix = unshare_command()
        if prefix is None:
            raise ClusterUnavailable(
                "this machine allows no network namespaces, so nodes cannot be emulated; see `autosync-lab doctor`",
                stage="start",
            )
        super().__init__(prefix, environment)
        self._cluster = cluster
        self.network: EmulatedNetwork | None = None

    def prepare(self) -> None:
        self.network = EmulatedNetwork(self.server_pid, self._cluster, self.folder)
        self.network.build()

    def open(self) -> None:
        super().open()
        assert self.network is not None
        self.versions |= {
            "tcp_congestion_control": self.network.congestion_control,
            "queue_bytes": str(self.network.queue_bytes),
        }
        if not self.network.has_latency:
            self.versions["netem"] = "none: links have no added latency"

    def mend(self) -> None:
        super().mend()
        assert self.network is not None
        for node in range(len(self._cluster.nodes)):
            self.network.check(node)
            self.network.set_link(node, up=True)

    def close(self) -> None:
        if self.network is not None:
            self.network.close()
            self.network = None
        super().close()

    def namespace_pid(self, node: int | None) -> int | None:
        assert self.network is not None
        return None if node is None else self.network.namespace_pid(node)

    def address(self, node: int) -> str:
        assert self.network is not None
        return self.network.address(node)

    def rendezvous_address(self) -> str:
        return SWITCH_ADDRESS

    def interface(self, node: int) -> str:
        return "eth0"

    def bytes_by_node(self) -> dict[str, tuple[int, int]] | None:
        assert self.network is not None
        return self.network.bytes_by_node()
