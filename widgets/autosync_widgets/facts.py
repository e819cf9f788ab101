"""What the pickers say about a model and a cluster, in plain words."""

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.model.spec import ModelSpec
from autosync_widgets.wording import bytes_text, count_text, gbps_text, plural, seconds_text


def model_facts(model: ModelSpec) -> tuple[str, ...]:
    """Sentences about a model's size and shape."""
    largest = max(model.variables, key=lambda v: v.nbytes)
    facts = [
        f"{count_text(model.parameters)} parameters in {plural(len(model.variables), 'variable')}, "
        f"{bytes_text(model.nbytes)}; batch of {model.batch_size} per replica.",
        f"Largest variable: {largest.name}, {bytes_text(largest.nbytes)} "
        f"({100 * largest.nbytes / model.nbytes:.0f} %).",
    ]
    sparse = [v for v in model.variables if v.sparse]
    if sparse:
        touched = sum(v.gradient_nbytes for v in sparse)
        facts.append(
            f"{plural(len(sparse), 'sparse variable')}: a step touches {bytes_text(touched)} "
            f"of their {bytes_text(sum(v.nbytes for v in sparse))}."
        )
    return (*facts, *(f"{note.rstrip('.')}." for note in model.notes))


_LAUNCHERS = {
    "local": "all on this machine, over loopback",
    "emulated": "emulated on this machine with rate-limited links",
    "ssh": "reached over ssh",
    "mpi": "started by MPI",
    "slurm": "started by Slurm",
    "ray": "started by Ray",
    "virtual": "simulated only: nothing is measured on it",
}


def cluster_facts(cluster: ClusterSpec) -> tuple[str, ...]:
    """Sentences about a cluster's topology."""
    servers = [n for n in cluster.nodes if not n.replicas]
    nodes = plural(len(cluster.nodes), "node")
    if servers:
        nodes += f" ({len(servers)} of them only {'servers' if len(servers) > 1 else 'a server'})"
    facts = [f"{nodes}, {plural(cluster.replicas, 'replica')}; {_LAUNCHERS[cluster.launcher]}."]
    facts.append(f"Links: {_links(cluster.nodes)}.")
    latencies = sorted({n.latency_s for n in cluster.nodes})
    if latencies != [0.0]:
        facts.append(f"Latency: {' to '.join(map(seconds_text, {latencies[0]: 0, latencies[-1]: 0}))} one way.")
    return tuple(facts)


def _links(nodes: tuple[Node, ...]) -> str:
    ups, downs = [n.up_gbps for n in nodes], [n.down_gbps for n in nodes]
    if ups == downs:
        return f"{_speeds(ups)} each way"
    return f"up {_speeds(ups)}, down {_speeds(downs)}"


def _speeds(gbps: list[float]) -> str:
    distinct = sorted(set(gbps), reverse=True)
    if len(distinct) == 1:
        return gbps_text(distinct[0])
    return ", ".join(f"{gbps.count(speed)} at {gbps_text(speed)}" for speed in distinct)
