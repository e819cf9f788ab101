"""Nodes that cannot work together are named, with what differs."""

import socket
from dataclasses import replace

from autosync_lab.runtime.node_report import (
    NodeReport,
    address_problems,
    installed_versions,
    report_of_this_machine,
    version_problems,
)

VERSIONS: dict[str, str | None] = {"python": "3.11", "tensorflow": "2.21.0"}


def report(address: str = "10.0.0.1", **changes: object) -> NodeReport:
    plain = NodeReport(address, "eth0", "host", (address,), "/venv/bin/python", VERSIONS, 2, 1 << 30)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_report_survives_its_journey() -> None:
    assert NodeReport.from_json(report().to_json()) == report()


def test_equal_nodes_have_no_problem() -> None:
    reports = {"a": report(), "b": report("10.0.0.2")}
    assert version_problems(reports, VERSIONS) == []
    assert address_problems(reports) == []


def test_a_version_that_differs_from_here() -> None:
    old = report(versions=VERSIONS | {"tensorflow": "2.20.0"})
    assert version_problems({"a": report(), "b": old}, VERSIONS) == [
        "node b has tensorflow 2.20.0, but here it is 2.21.0"
    ]


def test_versions_that_differ_between_nodes_where_here_has_none() -> None:
    old = report(versions=VERSIONS | {"tensorflow": "2.20.0"})
    assert version_problems({"a": report(), "b": old}, VERSIONS | {"tensorflow": None}) == [
        "node b has tensorflow 2.20.0, but on node a it is 2.21.0"
    ]


def test_a_package_that_is_missing() -> None:
    bare = report(versions=VERSIONS | {"tensorflow": None})
    assert version_problems({"a": bare}, VERSIONS) == ["node a has no tensorflow for its Python, /venv/bin/python"]


def test_a_host_name_that_leads_elsewhere() -> None:
    lost = report("10.0.0.2", hostname_addresses=("127.0.1.1",))
    (problem,) = address_problems({"a": report(), "b": lost})
    assert problem.startswith("node b: its host name host resolves to 127.0.1.1, not to 10.0.0.2")
    assert "`10.0.0.2 host`" in problem
    assert address_problems({"b": lost}) == []


def test_this_machine() -> None:
    found = report_of_this_machine("no-such-host.invalid", "127.0.0.1")
    assert (found.address, found.interface, found.hostname) == ("127.0.0.1", "lo", socket.gethostname())
    assert found.versions == installed_versions()
    assert found.cores >= 1
    assert found.memory_bytes > 1 << 28
