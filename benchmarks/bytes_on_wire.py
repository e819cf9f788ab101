"""Do the bytes counted on each interface agree with what each builder should send?"""

import numpy as np

import autosync_lab as asl
from autosync_lab.strategy import builder_names, node_traffic


def main() -> None:
    """Every builder on bench models and emulated presets; the largest deviation of any node, per builder."""
    for cluster_name in ("emulated-4", "emulated-hetero-4", "emulated-servers", "emulated-2x2"):
        cluster = asl.load_cluster(cluster_name)
        with asl.open_cluster(cluster) as runner:
            for model_name in ("vgg-mini", "ncf-small", "lm-small"):
                model = asl.load_model(model_name)
                line = []
                for builder in builder_names():
                    strategy = asl.build_strategy(builder, model, cluster)
                    trial = runner.measure(model, strategy, steps=4, warmup=1)
                    assert trial.bytes_sent is not None, trial.error
                    sent, _ = node_traffic(model, cluster, strategy)
                    counted = np.asarray([trial.bytes_sent[n.name] for n in cluster.nodes])
                    used = sent > 0.01 * sent.max()
                    line.append(f"{builder} {np.abs(counted[used] / sent[used] - 1).max():.1%}")
                print(f"{cluster_name}, {model_name}: {', '.join(line)}", flush=True)


if __name__ == "__main__":
    main()
