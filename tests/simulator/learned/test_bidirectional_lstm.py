"""The fast LSTM against Keras's own."""

import numpy as np
import pytest

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

from autosync_lab.simulator.learned.bidirectional_lstm import BidirectionalLstm  # noqa: E402

INPUTS, UNITS = 5, 3


def test_outputs_and_gradients_are_those_of_keras() -> None:
    rng = np.random.default_rng(0)
    ours = BidirectionalLstm(INPUTS, UNITS)
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_sequences=True))
    theirs.build((None, None, INPUTS))
    shapes = [tuple(w.shape) for w in ours.trainable_variables]
    assert shapes == [tuple(w.shape) for w in theirs.trainable_variables]
    weights = [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]
    sequence = tf.constant(rng.normal(size=(4, 7, INPUTS)), tf.float32)
    found = []
    for layer in (ours, theirs):
        with tf.GradientTape() as tape:
            tape.watch([*weights, sequence])
            others = [v.value for v in layer.non_trainable_variables]
            said = layer.stateless_call(weights, others, sequence)[0]
            loss = tf.reduce_sum(said**3)
        found.append([said, *tape.gradient(loss, [*weights, sequence])])
    assert found[0][0].shape == (4, 7, 2 * UNITS)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
