"""How long does it take to start a cluster, and to change the strategy?

Setup is a trial's time minus its steps: building graphs in all processes, sessions, initial values, and cleaning up.
"""

import statistics
import time

import autosync_lab as asl
from autosync_lab.model.catalog import CATALOG
from autosync_lab.strategy import builder_names


def main() -> None:
    """Measure every builder on every bench model on emulated-4."""
    cluster = asl.load_cluster("emulated-4")
    begin = time.perf_counter()
    with asl.open_cluster(cluster) as runner:
        print(f"pool of 4 nodes up: {time.perf_counter() - begin:.1f} s")
        setups: list[float] = []
        for card in CATALOG.values():
            if not card.bench:
                continue
            model = asl.load_model(card.name)
            here: dict[str, float] = {}
            for builder in builder_names():
                trial = runner.measure(model, asl.build_strategy(builder, model, cluster), steps=1, warmup=1)
                here[builder] = trial.setup_s
            setups += here.values()
            each = ", ".join(f"{b} {s:.2f}" for b, s in here.items())
            print(f"{card.name}: median {statistics.median(here.values()):.2f} s, max {max(here.values()):.2f} s")
            print(f"    {each}")
        print(f"all: median {statistics.median(setups):.2f} s, max {max(setups):.2f} s, {len(setups)} trials")


if __name__ == "__main__":
    main()
