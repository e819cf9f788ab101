"""`local`: every replica on this machine, over a loopback interface of its own."""

import subprocess

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.launchers.forking import ForkingLauncher
from autosync_lab.runtime.namespaces import enter_command, unshare_command


class LocalLauncher(ForkingLauncher):
    """Processes in one private network namespace: TensorFlow's servers listen on all of its interfaces, and it has only
    a loopback that no other program can reach."""

    def __init__(self, cluster: ClusterSpec, environment: dict[str, str]) -> None:
        prefix = unshare_command()
        if prefix is None:
            raise ClusterUnavailable(
                "this machine allows no private network namespace, and without one TensorFlow's servers would be open "
                "to the network; see `autosync-lab doctor`",
                stage="start",
            )
        super().__init__(prefix, environment)

    def prepare(self) -> None:
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost autosync-lab\n")
        for command in (
            ["ip", "link", "set", "lo", "up"],
            ["hostname", "autosync-lab"],
            ["mount", "--bind", str(hosts), "/etc/hosts"],
        ):
            _run_inside(self.server_pid, command)


def _run_inside(pid: int, command: list[str]) -> None:
    done = subprocess.run(
        [*enter_command(pid), *command],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    if done.returncode != 0:
        raise ClusterUnavailable(
            f"`{' '.join(command)}` failed",
            stage="network",
            stderr_tail=done.stderr[-2000:],
        )
