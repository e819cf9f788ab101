"""`BidirectionalLstm`: a long short-term memory along a sequence, both ways. Needs TensorFlow.

On CPUs Keras's own runs a graph of small operations for every element of the sequence; this runs one kernel of
TensorFlow's for a whole sequence.
"""

from typing import Any

import keras
import tensorflow as tf


class BidirectionalLstm(keras.layers.Layer):
    """As `keras.layers.Bidirectional(keras.layers.LSTM(units, return_sequences=True))`, with the same weights.

    Weights of each direction, forward first: kernel [inputs, 4 units], recurrent kernel [units, 4 units], bias
    [4 units]; gates in the order input, forget, cell, output.

    Parameters
    ----------
    inputs : int
        Features of an element.
    units : int
        Of each direction.
    """

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        shapes = ((inputs, 4 * units), (units, 4 * units), (4 * units,))
        self.directions = [[self.add_weight(shape=shape) for shape in shapes] for _ in range(2)]
        self.built = True

    def call(self, sequence: Any) -> Any:
        """Both directions' outputs for every element, [n, length, 2 units], of a sequence [n, length, inputs]."""
        along = tf.transpose(sequence, (1, 0, 2))
        forward, backward = self.directions
        outputs = [self._run(along, *forward), tf.reverse(self._run(tf.reverse(along, [0]), *backward), [0])]
        return tf.transpose(tf.concat(outputs, axis=2), (1, 0, 2))

    def _run(self, along: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        start = tf.zeros((tf.shape(along)[1], self.units))
        no_peephole = tf.zeros((self.units,))
        # Version 2 of the kernel has Keras's order of gates, but TensorFlow's gradient of it assumes that of version 1.
        return tf.raw_ops.BlockLSTM(
            seq_len_max=tf.shape(along, tf.int64)[0],
            x=along,
            cs_prev=start,
            h_prev=start,
            w=_reordered(tf.concat([tf.convert_to_tensor(kernel), tf.convert_to_tensor(recurrent)], axis=0)),
            wci=no_peephole,
            wcf=no_peephole,
            wco=no_peephole,
            b=_reordered(tf.convert_to_tensor(bias)),
            forget_bias=0.0,
            cell_clip=-1.0,
        ).h


def _reordered(gates: Any) -> Any:
    """From the order input, forget, cell, output to input, cell, forget, output."""
    i, f, c, o = tf.split(gates, 4, axis=-1)
    return tf.concat([i, c, f, o], axis=-1)
