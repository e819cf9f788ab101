"""How near do all-reduce and parameter servers come to their own bandwidth bound?

On emulated-4, where communication dominates; rounds interleaved. Two models: vgg-mini, nearly all of it in two dense
layers, and as many bytes in 16 equal ones. The bound counts bytes only. A server that owns a whole large variable stays
above it, because a variable must have been pushed by everyone before anyone can pull it: that is vgg-mini under
`ps-load-balanced`.
"""

import statistics

import numpy as np

import autosync_lab as asl
from autosync_lab.strategy import link_time_s

BUILDERS = ("all-reduce", "horovod", "ps", "ps-load-balanced", "partitioned-ps", "byteps")
ROUNDS = 3
LAYERS, WIDTH = 16, 380


def equal_layers() -> asl.ModelSpec:
    """16 dense layers of 380 x 380: 9.2 MB, as vgg-mini."""
    import tensorflow as tf

    rng = np.random.default_rng(0)
    weights = [
        tf.Variable(rng.normal(size=(WIDTH, WIDTH)).astype(np.float32) / WIDTH**0.5, name=f"layer{i}")
        for i in range(LAYERS)
    ]

    def loss(x: tf.Tensor) -> tf.Tensor:
        for weight in weights:
            x = tf.tanh(tf.matmul(x, weight))
        return tf.reduce_mean(x * x)

    batch = (rng.normal(size=(4, WIDTH)).astype(np.float32),)
    return asl.ModelSpec.from_function(tf.autograph.experimental.do_not_convert(loss), weights, batch, name="equal-16")


def main() -> None:
    """Measure each builder in turn, several rounds."""
    cluster = asl.load_cluster("emulated-4")
    with asl.open_cluster(cluster) as runner:
        for model in (asl.load_model("vgg-mini"), equal_layers()):
            strategies = {b: asl.build_strategy(b, model, cluster) for b in BUILDERS}
            times: dict[str, list[float]] = {b: [] for b in BUILDERS}
            compute = runner.profile(model).compute_s
            for _ in range(ROUNDS):
                for builder, strategy in strategies.items():
                    trial = runner.measure(model, strategy, steps=8, warmup=2)
                    times[builder].append(trial.step_time_s)
            bound = asl.bandwidth_bound(model, cluster)
            print(f"{model.name}: bandwidth bound {bound:.3f} s, one replica computes {compute * 1e3:.0f} ms alone")
            for builder, strategy in strategies.items():
                own = link_time_s(model, cluster, strategy)
                median = statistics.median(times[builder])
                spread = ", ".join(f"{t:.3f}" for t in times[builder])
                print(f"    {builder}: {median:.3f} s ({spread}), own bound {own:.3f} s, {median / own:.2f}x")


if __name__ == "__main__":
    main()
