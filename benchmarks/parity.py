"""How far is training from one process on the concatenated batch, over 20 random strategies per model?"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import autosync_lab as asl
from autosync_lab.model.catalog import CATALOG
from autosync_lab.strategy import builder_card, builder_names
from tests.runtime.clusters import fast_cluster
from tests.runtime.reference import concatenated_training
from tests.runtime.test_parity import RATE, STEPS, worst_error
from tests.strategies import random_strategy


def main() -> None:
    """The worst relative error of any parameter on any replica, after 5 steps of SGD."""
    cluster = fast_cluster()
    with asl.open_cluster(cluster) as runner:
        for card in CATALOG.values():
            if not card.bench:
                continue
            model = asl.load_model(card.name)
            rng = np.random.default_rng(2020)
            named = {b: asl.build_strategy(b, model, cluster) for b in builder_names() if builder_card(b).lossless}
            named |= {f"random {i}": random_strategy(model, cluster, rng) for i in range(20)}
            reference = concatenated_training(model.traced, cluster.replicas, STEPS, "sgd", RATE)
            errors = {}
            for name, strategy in named.items():
                trial, trained = runner.train(model, strategy, steps=STEPS, learning_rate=RATE)
                errors[name] = worst_error(trained, reference) if trial.status == "ok" else float("inf")
            worst = max(errors, key=errors.__getitem__)
            print(f"{card.name}: worst {errors[worst]:.1e} ({worst}), {len(errors)} strategies", flush=True)


if __name__ == "__main__":
    main()
