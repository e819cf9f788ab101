"""What one node of a cluster of machines says of itself, and whether several of them can work together."""

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import psutil

DISTRIBUTIONS = {
    "tensorflow": ("tensorflow-cpu", "tensorflow"),
    "keras": ("keras",),
    "horovod": ("horovod",),
    "numpy": ("numpy",),
}
"""What every node needs, and the names under which it may be installed."""


@dataclass(frozen=True)
class NodeReport:
    """One node, as its agent found it.

    Parameters
    ----------
    address : str
        Its IPv4 address that the other nodes reach.
    interface : str
        The network interface that has this address.
    hostname : str
    hostname_addresses : tuple of str
        What the host name resolves to on the node itself; empty if it does not.
    executable : str
        Its Python.
    versions : dict of str to (str or None)
        By package; None for one that is not installed.
    cores : int
    memory_bytes : int
    """

    address: str
    interface: str
    hostname: str
    hostname_addresses: tuple[str, ...]
    executable: str
    versions: dict[str, str | None]
    cores: int
    memory_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "NodeReport":
        """Inverse of `to_json`."""
        return cls(**document | {"hostname_addresses": tuple(document["hostname_addresses"])})


def report_of_this_machine(name: str, own_address: str) -> NodeReport:
    """Look at this machine.

    Parameters
    ----------
    name : str
        How the cluster calls this node. If that is, or resolves to, one of its addresses, the others use this one.
    own_address : str
        Else they use this one.

    Raises
    ------
    OSError
        If no network interface has the address.
    """
    interfaces = _interfaces()
    address = next((a for a in addresses_of(name) if a in interfaces and interfaces[a] != "lo"), own_address)
    if address not in interfaces:
        raise OSError(f"no network interface has the address {address}")
    hostname = socket.gethostname()
    return NodeReport(
        address=address,
        interface=interfaces[address],
        hostname=hostname,
        hostname_addresses=addresses_of(hostname),
        executable=sys.executable,
        versions=installed_versions(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
    )


def installed_versions() -> dict[str, str | None]:
    """Versions of what nodes must have the same of, as installed here; nothing heavy is imported."""
    import autosync_lab

    versions: dict[str, str | None] = {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "autosync_lab": autosync_lab.__version__,
    }
    return versions | {package: _version(names) for package, names in DISTRIBUTIONS.items()}


def addresses_of(name: str) -> tuple[str, ...]:
    """IPv4 addresses that a name resolves to; none if it does not."""
    try:
        return tuple(sorted({str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET)}))
    except (OSError, UnicodeError):
        return ()


def version_problems(reports: Mapping[str, NodeReport], here: Mapping[str, str | None]) -> list[str]:
    """What keeps nodes from running the same trial: a package that one lacks, or has another version of.

    Parameters
    ----------
    reports : mapping of str to NodeReport
        By node.
    here : mapping of str to (str or None)
        Versions where the trials are led from. What is not installed here is compared between nodes only.

    Returns
    -------
    list of str
        One sentence for each.
    """
    problems = []
    for package, version in here.items():
        whose, expected = "here", version
        for node, report in reports.items():
            found = report.versions.get(package)
            if found is None:
                problems.append(f"node {node} has no {package} for its Python, {report.executable}")
            elif expected is None:
                whose, expected = f"on node {node}", found
            elif found != expected:
                problems.append(f"node {node} has {package} {found}, but {whose} it is {expected}")
    return problems


def address_problems(reports: Mapping[str, NodeReport]) -> list[str]:
    """Nodes that the collectives of others would not find: Gloo listens on what a node's host name resolves to.

    Returns
    -------
    list of str
        One sentence for each, with the line that mends it. A node alone meets nobody.
    """
    if len({report.address for report in reports.values()}) < 2:
        return []
    return [
        f"node {node}: its host name {report.hostname} resolves to {', '.join(report.hostname_addresses) or 'nothing'}"
        f", not to {report.address}, where the other nodes look for it; its /etc/hosts needs a line "
        f"`{report.address} {report.hostname}` before others of this name"
        for node, report in reports.items()
        if report.hostname_addresses != (report.address,)
    ]


def _interfaces() -> dict[str, str]:
    """Network interface of each IPv4 address of this machine."""
    return {
        address.address: interface
        for interface, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family == socket.AF_INET
    }


def _version(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return None
