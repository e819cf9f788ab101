"""`Gat`: attention between a strategy's variables and what carries their shards."""

from typing import Any

import tensorflow as tf

from autosync_lab.simulator.learned.network import NetworkRanker, ScoringLayer

HIDDEN, WIDTH = 32, 16
"""Units for a shard, and for everything else."""

SLOPE = 0.2
"""Of the leaky ReLU before the softmax, as in the source."""


class _Layer(ScoringLayer):
    def make(self, shard_features: int) -> None:
        self.of_shard = self.dense(shard_features, HIDDEN, "relu")
        self.narrow = self.dense(HIDDEN, WIDTH)
        self.to_carrier = self.dense(2 * WIDTH, 1)
        self.carried = self.dense(WIDTH, WIDTH, "relu")
        self.to_variable = self.dense(3 * WIDTH, 1)
        self.neighbours = self.dense(2 * WIDTH, 1)
        self.updated = self.dense(3 * WIDTH, WIDTH, "relu")
        self.mixed = self.dense(3 * WIDTH + self.strategy_features, WIDTH, "relu")
        self.score = self.dense(WIDTH, 1)

    def call(self, shards: Any, cell: Any, carrier: Any, counts: Any, strategies: Any) -> Any:
        n, variables, carriers = counts[0], counts[1], counts[2]
        cells = n * variables
        of_shards = self.narrow(self.of_shard(shards))
        of_variables = tf.math.unsorted_segment_sum(of_shards, cell, cells)
        seen = tf.concat([of_shards, tf.gather(of_variables, cell)], axis=1)
        share = _attention(self.to_carrier(seen)[:, 0], carrier, carriers)
        of_carriers = self.carried(tf.math.unsorted_segment_sum(share * of_shards, carrier, carriers))
        back = tf.gather(of_carriers, carrier)
        share = _attention(self.to_variable(tf.concat([seen, back], axis=1))[:, 0], cell, cells)
        from_carriers = tf.math.unsorted_segment_sum(share * back, cell, cells)
        around = self._around(tf.reshape(of_variables, (n, variables, WIDTH)))
        parts = [of_variables, from_carriers, tf.reshape(around, (cells, WIDTH))]
        updated = tf.reshape(self.updated(tf.concat(parts, axis=1)), (n, variables, WIDTH))
        pooled = [tf.reduce_mean(updated, axis=1), tf.reduce_max(updated, axis=1)]
        # The busiest carrier decides: empty ones have nothing above 0.
        by_candidate = tf.math.unsorted_segment_max(back, cell // variables, n)
        return self.score(self.mixed(tf.concat([*pooled, by_candidate, strategies], axis=1)))[:, 0]

    def _around(self, of_variables: Any) -> Any:
        """What a variable sees of itself and of its neighbours in forward order, [n, V, WIDTH]."""
        padded = tf.pad(of_variables, [[0, 0], [1, 1], [0, 0]])
        near = tf.stack([padded[:, :-2], of_variables, padded[:, 2:]], axis=2)
        own = tf.broadcast_to(of_variables[:, :, None], tf.shape(near))
        score = tf.nn.leaky_relu(self.neighbours(tf.concat([near, own], axis=-1)), SLOPE)
        return tf.reduce_sum(tf.nn.softmax(score, axis=2) * near, axis=2)


def _attention(score: Any, segment: Any, segments: Any) -> Any:
    """Softmax of scores within each segment, [S, 1]."""
    score = tf.nn.leaky_relu(score, SLOPE)
    largest = tf.math.unsorted_segment_max(score, segment, segments)
    weight = tf.exp(score - tf.stop_gradient(tf.gather(largest, segment)))
    total = tf.math.unsorted_segment_sum(weight, segment, segments)
    return (weight / tf.gather(total, segment))[:, None]


class Gat(NetworkRanker):
    """Graph attention: shards are edges between variables and their servers or collectives, neighbours in forward order
    are edges too; one round of attention each way, then a score.

    Source: Velickovic et al., "Graph attention networks", ICLR 2018; the authors of AutoSync tried one in their
    ablations.
    """

    name = "gat"
    layer_class = _Layer
