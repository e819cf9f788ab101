"""Cluster files: YAML, a superset of AutoDist's resource spec.

A file has `nodes`, and may have `name`, `launcher`, `options` and `ssh`. A node has `address` or `name`, and may have
`replicas`, `gpus`, `cpus`, `chief`, `ssh_config`, `network_bandwidth` (Gbit/s, both ways), `up_gbps`, `down_gbps`,
`latency_s`, `memory_gib`. As in AutoDist, replicas are the node's GPUs, or its listed CPUs where it has none, and a
link whose bandwidth is not given has 1 Gbit/s; `replicas` and `.inf` say otherwise.
"""

import ipaddress
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from autosync_lab.cluster.spec import LAUNCHERS, ClusterSpec, Node
from autosync_lab.errors import InvalidCluster
from autosync_lab.user_file import read_text_file

MAX_FILE_BYTES = 1 << 20
DEFAULT_GBPS = 1.0
"""Bandwidth of a link that the file says nothing of: AutoDist's default."""

TOP_FIELDS = ("name", "launcher", "options", "nodes", "ssh")
NODE_FIELDS = (
    "address",
    "name",
    "replicas",
    "gpus",
    "cpus",
    "chief",
    "ssh_config",
    "network_bandwidth",
    "up_gbps",
    "down_gbps",
    "latency_s",
    "memory_gib",
)
SSH_FIELDS = ("username", "port", "key_file", "python_venv", "shared_envs")


def read_cluster(path: Path) -> ClusterSpec:
    """Read a cluster file; `InvalidCluster` says what is wrong with it."""
    text = read_text_file(path, MAX_FILE_BYTES, "a cluster file", InvalidCluster)
    return parse_cluster(text, where=str(path), name=path.stem)


def parse_cluster(text: str, *, where: str, name: str) -> ClusterSpec:
    """Read a cluster from YAML text.

    Parameters
    ----------
    where : str
        What errors call the text.
    name : str
        The cluster's name if the text gives none.
    """
    document = _load(text, where)
    if not isinstance(document, dict):
        raise InvalidCluster("a cluster file is a map with `nodes`", where=where, received=document)
    _known(document, TOP_FIELDS, where)
    launcher = document.get("launcher")
    if launcher is not None and launcher not in LAUNCHERS:
        raise InvalidCluster("unknown launcher", where=where, received=launcher, valid=LAUNCHERS)
    ssh = _ssh(document.get("ssh", {}), where)
    entries = document.get("nodes")
    if not isinstance(entries, list) or not entries:
        raise InvalidCluster("`nodes` is a list with at least one node", where=where, received=entries)
    # A file that says nothing of how to start processes is AutoDist's: one node runs here, several over ssh.
    launcher = launcher or ("ssh" if len(entries) > 1 else "local")
    remote = launcher == "ssh" and len(entries) > 1
    nodes = tuple(_node(entry, where, ssh, number, remote) for number, entry in enumerate(entries, start=1))
    if remote and not any(n.chief for n in nodes):
        raise InvalidCluster("one node of a cluster of several is the chief: give it `chief: true`", where=where)
    title = document.get("name", name)
    if not isinstance(title, str):
        raise InvalidCluster("`name` is text", where=where, received=title)
    with _located(where):
        return ClusterSpec(title, nodes, launcher, document.get("options", {}), ssh)


def dump_cluster(cluster: ClusterSpec) -> str:
    """YAML text that `parse_cluster` reads back to an equal cluster."""
    nodes = []
    for node in cluster.nodes:
        entry: dict[str, Any] = {
            "name": node.name,
            "replicas": node.replicas,
            "up_gbps": node.up_gbps,
            "down_gbps": node.down_gbps,
            "latency_s": node.latency_s,
        }
        if node.gpus:
            entry["gpus"] = list(node.gpus)
        if node.chief:
            entry["chief"] = True
        if node.ssh is not None:
            entry["ssh_config"] = node.ssh
        if node.memory_gib is not None:
            entry["memory_gib"] = node.memory_gib
        nodes.append(entry)
    document: dict[str, Any] = {"name": cluster.name, "launcher": cluster.launcher, "nodes": nodes}
    if cluster.launcher_options:
        document["options"] = dict(cluster.launcher_options)
    if cluster.ssh:
        document["ssh"] = {name: dict(group) for name, group in cluster.ssh.items()}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


class _UniqueKeys(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            # A tag that says map before what is none; YAML's own constructor explains it.
            return super().construct_mapping(node, deep)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key.value, str):
                raise yaml.constructor.ConstructorError(None, None, "a key is text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            # What Python's conversions raise for a value that its tag, or its look, does not fit: 2001-99-99.
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(None, None, f"this is no {kind}", node.start_mark) from None


def _load(text: str, where: str) -> Any:
    try:
        return yaml.load(text, Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        raise InvalidCluster(f"this is no YAML: {_one_line(error)}", where=where) from None
    except RecursionError:
        raise InvalidCluster("this YAML is nested too deeply", where=where) from None


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Errors about nodes and clusters also say what was being read."""
    try:
        yield
    except InvalidCluster as error:
        at = f"{where}: {error.where}" if error.where else where
        raise InvalidCluster(error.rule, where=at, received=error.received, valid=error.valid) from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _known(document: dict[Any, Any], fields: tuple[str, ...], where: str) -> None:
    for key in document:
        if key not in fields:
            raise InvalidCluster("unknown field", where=where, received=key, valid=fields)


def _ssh(document: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(document, dict):
        raise InvalidCluster("`ssh` is a map of groups", where=where, received=document)
    for name, group in document.items():
        at = f"{where}: ssh group {name!r}"
        if not isinstance(name, str) or not isinstance(group, dict):
            raise InvalidCluster("an ssh group is a map", where=at, received=group)
        _known(group, SSH_FIELDS, at)
        for field in ("username", "key_file", "python_venv"):
            if field in group and not isinstance(group[field], str):
                raise InvalidCluster(f"`{field}` is text", where=at, received=group[field])
        port = group.get("port", 22)
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise InvalidCluster("`port` is a number from 1 to 65535", where=at, received=port)
        variables = group.get("shared_envs", {})
        if not isinstance(variables, dict):
            raise InvalidCluster("`shared_envs` is a map", where=at, received=variables)
        for key, value in variables.items():
            if not isinstance(key, str) or not isinstance(value, str | int | float):
                raise InvalidCluster("`shared_envs` maps names to texts or numbers", where=at, received={key: value})
    return {name: dict(group) for name, group in document.items()}


def _node(entry: Any, where: str, ssh: dict[str, dict[str, Any]], number: int, remote: bool) -> Node:
    if not isinstance(entry, dict):
        raise InvalidCluster("a node is a map", where=f"{where}: node {number}", received=entry)
    name = entry.get("name", entry.get("address"))
    if not isinstance(name, str) or not name:
        raise InvalidCluster("a node has an `address`, which is text", where=f"{where}: node {number}", received=name)
    if "name" in entry and "address" in entry:
        raise InvalidCluster(
            "a node has an `address` or a `name`, not both", where=f"{where}: node {number}", received=name
        )
    at = f"{where}: node {name!r}"
    if remote and _is_loopback(name):
        raise InvalidCluster(
            "a loopback address means another machine on every node; give the address that the others reach",
            where=at,
            received=name,
        )
    _known(entry, NODE_FIELDS, at)
    gpus, cpus = (_indices(entry.get(f, []), f, at) for f in ("gpus", "cpus"))
    replicas = entry.get("replicas", len(gpus) or len(cpus) or 1)
    if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0:
        raise InvalidCluster("`replicas` is a whole number, 0 or more", where=at, received=replicas)
    both = _number(entry, "network_bandwidth", DEFAULT_GBPS, at)
    chief = entry.get("chief", False)
    if not isinstance(chief, bool):
        raise InvalidCluster("`chief` is true or false", where=at, received=chief)
    group = entry.get("ssh_config")
    if group is not None and group not in tuple(ssh):
        raise InvalidCluster("unknown ssh group", where=at, received=group, valid=sorted(ssh))
    memory = _number(entry, "memory_gib", math.inf, at)
    up_gbps, down_gbps = (_number(entry, way, both, at) for way in ("up_gbps", "down_gbps"))
    latency_s = _number(entry, "latency_s", 0.0, at, least=0.0)
    with _located(f"{where}: node {number}"):
        return Node(
            name=name,
            replicas=replicas,
            up_gbps=up_gbps,
            down_gbps=down_gbps,
            latency_s=latency_s,
            gpus=gpus,
            chief=chief,
            ssh=group,
            memory_gib=None if math.isinf(memory) else memory,
        )


def _indices(value: Any, field: str, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(i, bool) or not isinstance(i, int) or i < 0 for i in value):
        raise InvalidCluster(f"`{field}` is a list of device numbers", where=where, received=value)
    if len(set(value)) < len(value):
        raise InvalidCluster(f"`{field}` names a device twice", where=where, received=value)
    return tuple(value)


def _number(entry: dict[str, Any], field: str, default: float, where: str, least: float | None = None) -> float:
    value = entry.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InvalidCluster(f"`{field}` is a number", where=where, received=value)
    if value > sys.float_info.max and value != math.inf:
        raise InvalidCluster(f"`{field}` is too large a number; `.inf` is no limit", where=where, received=value)
    if (value <= 0) if least is None else not least <= value < math.inf:
        raise InvalidCluster(
            f"`{field}` is {'above 0' if least is None else 'a finite number, 0 or more'}", where=where, received=value
        )
    return float(value)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.casefold() in ("localhost", "ip6-localhost")
