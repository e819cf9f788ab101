"""`Rnn`: the paper's simulator, a network over shards and then over variables in forward order."""

from typing import Any

import tensorflow as tf

from autosync_lab.simulator.learned.bidirectional_lstm import BidirectionalLstm
from autosync_lab.simulator.learned.network import NetworkRanker, ScoringLayer

HIDDEN, OF_VARIABLE, OF_SEQUENCE = 32, 16, 16
"""Units for a shard, a variable, and each direction along the variables.

The authors have 128, 32, and 3 layers of 128 in each direction: with those, 200 trials of BERT-large take hours on two
cores, and tens of trials do not need so many weights.
"""


class _Layer(ScoringLayer):
    def make(self, shard_features: int) -> None:
        self.of_shard = self.dense(shard_features, HIDDEN, "relu")
        self.to_variable = self.dense(HIDDEN, OF_VARIABLE)
        self.along = BidirectionalLstm(OF_VARIABLE, OF_SEQUENCE)
        self.mixed = self.dense(2 * OF_SEQUENCE + self.strategy_features, OF_VARIABLE, "relu")
        self.score = self.dense(OF_VARIABLE, 1)

    def call(self, shards: Any, cell: Any, carrier: Any, counts: Any, strategies: Any) -> Any:
        n, variables = counts[0], counts[1]
        of_shards = self.to_variable(self.of_shard(shards))
        summed = tf.math.unsorted_segment_sum(of_shards, cell, n * variables)
        sequence = self.along(tf.reshape(tf.nn.relu(summed), (n, variables, OF_VARIABLE)))
        whole = tf.concat([tf.reduce_mean(sequence, axis=1), strategies], axis=1)
        return self.score(self.mixed(whole))[:, 0]


class Rnn(NetworkRanker):
    """A perceptron for each shard, summed over a variable's shards; a bidirectional LSTM over variables; a score.

    Source: Zhang et al., NeurIPS 2020, with fewer units (see `HIDDEN`), the mean over variables in place of the last
    one's state, and the prior and predefined features of the whole strategy beside it.
    """

    name = "rnn"
    layer_class = _Layer
