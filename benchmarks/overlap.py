"""How well do pushes and pulls overlap on dedicated servers, by shards and push credit?

vgg-mini on emulated-servers: every replica pushes its whole gradient and pulls the whole model, and with full-duplex
links the step could take as little as the longer of the two.
"""

import statistics

import autosync_lab as asl
from autosync_lab.model import ModelSpec
from autosync_lab.strategy import ParameterServer, Strategy, VariableStrategy, link_time_s

CASES = ((1, 0), (2, 0), (8, 0), (16, 0), (16, 1), (16, 2), (16, 4), (32, 4), (32, 8))
SMALL_BYTES = 64 * 1024


def partitioned(model: ModelSpec, cluster: asl.ClusterSpec, shards: int, credit: int) -> Strategy:
    """Each large variable in `shards` shards, alternating between the servers."""
    servers = [n.name for n in cluster.nodes if not n.replicas]
    entries, at = [], 0
    for variable in model.variables:
        count = min(shards, variable.shape[0]) if variable.nbytes > SMALL_BYTES else 1
        owners = tuple(ParameterServer(servers[(at + i) % len(servers)]) for i in range(count))
        at += count
        entries.append(VariableStrategy(variable.name, owners, 0 if count > 1 else None))
    return Strategy(tuple(entries), cluster.replicas, push_credit=credit)


def main() -> None:
    """Measure each case in turn, three rounds."""
    cluster, model = asl.load_cluster("emulated-servers"), asl.load_model("vgg-mini")
    times: dict[tuple[int, int], list[float]] = {case: [] for case in CASES}
    strategies = {case: partitioned(model, cluster, *case) for case in CASES}
    strategies[0, 0] = asl.build_strategy("byteps", model, cluster)
    times[0, 0] = []
    with asl.open_cluster(cluster) as runner:
        for _ in range(3):
            for case, strategy in strategies.items():
                times[case].append(runner.measure(model, strategy, steps=6, warmup=1).step_time_s)
    for case, strategy in strategies.items():
        own = link_time_s(model, cluster, strategy)
        median = statistics.median(times[case])
        name = "byteps" if case == (0, 0) else f"{case[0]} shards, credit {case[1] or 'unlimited'}"
        spread = f"{min(times[case]):.3f}..{max(times[case]):.3f}"
        print(f"{name}: {median:.3f} s ({spread}), max(push, pull) {own:.3f} s, {median / own:.2f}x")


if __name__ == "__main__":
    main()
