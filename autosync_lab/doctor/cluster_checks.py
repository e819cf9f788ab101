"""The checks of a cluster's nodes: are they reached, do they agree, would they find each other."""

import math
import shlex

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.doctor.check import Check
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.runtime.channel import ChannelClosed
from autosync_lab.runtime.launchers.base import Launcher
from autosync_lab.runtime.launchers.ssh import SshLauncher
from autosync_lab.runtime.link_probe import measured_gbps
from autosync_lab.runtime.node_report import NodeReport, address_problems, installed_versions, version_problems

CLOCK_S = 0.1
"""A clock that is further from this machine's than a step is long makes logs of nodes hard to compare."""

LEAST_LINK_SHARE = 0.7
"""Share of its declared bandwidth that a link carries at least, headers and the start of the connection taken off."""


def run_cluster_checks(cluster: ClusterSpec) -> list[Check]:
    """Check the nodes of a cluster; nothing is left running on them.

    Returns
    -------
    list of Check
        One a node and link, and one for each thing that the nodes disagree in. A cluster on this machine needs none.
    """
    if cluster.launcher == "ssh":
        launcher = SshLauncher(cluster, {})
        try:
            return check_nodes(cluster, launcher)
        except ClusterUnavailable as error:
            return [Check(cluster.name, "missing", _one_line(error), "name nodes as `ssh` on this machine knows them")]
        finally:
            launcher.close()
    if cluster.launcher == "virtual":
        return [Check(cluster.name, "ok", "simulated: it has no processes")]
    if cluster.launcher in ("local", "emulated"):
        return [Check(cluster.name, "ok", "all of it is on this machine")]
    detail = f"no processes can be started by {cluster.launcher} yet"
    return [Check(cluster.name, "missing", detail, "use the launcher ssh, or simulate it with the launcher virtual")]


def check_nodes(cluster: ClusterSpec, launcher: SshLauncher) -> list[Check]:
    """Have an agent on every node look around; raises `ClusterUnavailable` if this machine reaches none at all."""
    reports, failures = launcher.survey()
    checks = []
    for index, node in enumerate(cluster.nodes):
        if node.name in failures:
            remedy = f"this must work without a question: {shlex.join([*launcher.login_command(node), 'true'])}"
            checks.append(Check(f"node {node.name}", "missing", _one_line(failures[node.name]), remedy))
            continue
        checks.append(Check(f"node {node.name}", "ok", _found(reports[node.name])))
        ahead_s = launcher.clock_ahead_s(index)
        if abs(ahead_s) > CLOCK_S:
            way = "ahead of" if ahead_s > 0 else "behind"
            detail = f"{abs(ahead_s):.1f} s {way} this machine's; traces allow for it"
            checks.append(Check(f"clock of {node.name}", "warning", detail, "let a time service set the clocks"))
    same = "install the same versions on all nodes and here"
    checks += [Check("versions", "missing", p, same) for p in version_problems(reports, installed_versions())]
    for problem in address_problems(reports):
        what, _, remedy = problem.rpartition("; ")
        checks.append(Check("addresses", "missing", what, remedy))
    if not failures and len(cluster.nodes) > 1:
        checks += check_links(cluster, launcher)
    return checks


def check_links(cluster: ClusterSpec, launcher: Launcher) -> list[Check]:
    """Measure what a connection carries from each node to the next, one after the other, a second each.

    Parameters
    ----------
    launcher : Launcher
        An open one, of this cluster.
    """
    checks = []
    for sender, node in enumerate(cluster.nodes):
        receiver = (sender + 1) % len(cluster.nodes)
        peer = cluster.nodes[receiver]
        name = f"link {node.name} to {peer.name}"
        try:
            gbps = measured_gbps(launcher, sender, receiver)
        except (ClusterUnavailable, ChannelClosed) as error:
            remedy = "let the nodes reach each other on all ports"
            checks.append(Check(name, "missing", f"nothing arrived: {' '.join(str(error).split())}", remedy))
            continue
        declared = min(node.up_gbps, peer.down_gbps)
        slow = not math.isinf(declared) and gbps < LEAST_LINK_SHARE * declared
        said = "" if math.isinf(declared) else f", declared {declared:g}"
        remedy = "give the cluster file the bandwidth that the link has; one connection may not fill a very fast one"
        checks.append(Check(name, "warning" if slow else "ok", f"{gbps:.3g} Gbit/s{said}", remedy if slow else ""))
    return checks


def _found(report: NodeReport) -> str:
    versions = ", ".join(f"{package} {version}" for package, version in report.versions.items() if version)
    memory = report.memory_bytes / 2**30
    return f"{report.address} on {report.interface}, {report.cores} cores, {memory:.1f} GiB, {versions}"


def _one_line(error: ClusterUnavailable) -> str:
    return " ".join(str(error).split())
