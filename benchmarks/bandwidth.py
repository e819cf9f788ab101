"""How near do all-reduce and parameter servers come to their own bandwidth bound?

vgg-mini on emulated-4, where communication dominates; rounds interleaved.
"""

import statistics

import autosync_lab as asl
from autosync_lab.strategy import link_time_s

BUILDERS = ("all-reduce", "horovod", "ps", "ps-load-balanced", "partitioned-ps", "byteps")
ROUNDS = 3


def main() -> None:
    """Measure each builder in turn, several rounds."""
    cluster, model = asl.load_cluster("emulated-4"), asl.load_model("vgg-mini")
    strategies = {b: asl.build_strategy(b, model, cluster) for b in BUILDERS}
    times: dict[str, list[float]] = {b: [] for b in BUILDERS}
    with asl.open_cluster(cluster) as runner:
        print(f"compute of one replica alone: {runner.profile(model).compute_s * 1e3:.0f} ms")
        for _ in range(ROUNDS):
            for builder, strategy in strategies.items():
                trial = runner.measure(model, strategy, steps=8, warmup=2)
                times[builder].append(trial.step_time_s)
    print(f"bandwidth bound: {asl.bandwidth_bound(model, cluster):.3f} s")
    for builder, strategy in strategies.items():
        own = link_time_s(model, cluster, strategy)
        median = statistics.median(times[builder])
        spread = ", ".join(f"{t:.3f}" for t in times[builder])
        print(f"{builder}: {median:.3f} s ({spread}), own bound {own:.3f} s, {median / own:.2f}x")


if __name__ == "__main__":
    main()
