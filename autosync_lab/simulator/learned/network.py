"""Neural rankers: what they read, how they are trained and evaluated. Needs TensorFlow.

A network is a Keras layer that is called without state: its weights go in and come out, so nothing is shared between
simulators, and each kind is traced once in a process, for all models and clusters.

Shapes: n candidates, V variables, S shards, C carriers (servers and collectives) of all candidates together.
"""

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from autosync_lab.errors import InvalidInput
from autosync_lab.simulator.features import Encoded
from autosync_lab.simulator.features.predefined import PREDEFINED_FEATURES
from autosync_lab.simulator.learned.pair_trials import Lesson
from autosync_lab.simulator.learned.ranker import Ranker, State, check_shapes
from autosync_lab.simulator.learned.ranknet import NOISE

LEARNING_RATE = 3e-3
"""Of Adam; ten times the authors' 3e-4, as these networks are smaller and see all trials at once."""

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
"""Of Adam, as usual."""

WEIGHT_DECAY = 3e-4
"""The authors' value: how much of a weight is lost in a step, in units of the learning rate, toward where it began."""

MOST_STEPS, MOST_STEPS_WITH_PRIOR, LEAST_STEPS = 200, 60, 30
"""Gradient steps with each lesson: the authors train for 200 epochs. A correction of a prior gains nothing from more
than 60, as measured on held-out trials, and the fewer steps, the nearer it stays."""

SHARD_STEPS = 15_000_000
"""Shards times steps of one lesson at most: large models are trained for fewer steps."""

MOST_COMPARED = 256
"""Strategies of a lesson that are compared at once; of more, as many are drawn for each step."""

CHUNK_SHARDS = 100_000
"""Shards that are evaluated at once: it bounds the memory, and what a chunk needs stays in a cache."""

AT_ONCE = 2
"""Chunks that are evaluated side by side."""


class ScoringLayer(keras.Layer):
    """Scores candidates. A subclass makes its layers when constructed, and says in `call` what it does.

    Parameters
    ----------
    shard_features, strategy_features : int
    """

    def __init__(self, shard_features: int, strategy_features: int) -> None:
        super().__init__()
        self.strategy_features = strategy_features
        self.make(shard_features)
        self.built = True

    def make(self, shard_features: int) -> None:
        """Make and build the layers."""
        raise NotImplementedError

    def dense(self, inputs: int, units: int, activation: str | None = None) -> keras.layers.Dense:
        """A built dense layer."""
        layer = keras.layers.Dense(units, activation)
        layer.build((None, inputs))
        return layer


def _read(encoded: Encoded) -> tuple[Any, ...]:
    """What `ScoringLayer.call` gets: shards [S, features], cell [S] (candidate * V + variable), carrier [S], counts
    (n, V, C), strategies [n, features]; and the base [n]."""
    batch, variables = encoded.batch, encoded.batch.shards.shape[1]
    cell = batch.candidate.astype(np.int64) * variables + batch.variable
    return (
        # TensorFlow transposes faster than it reads what is feature by feature in memory.
        tf.transpose(tf.constant(encoded.of_shards.T)),
        cell.astype(np.int32),
        encoded.carrier.astype(np.int32),
        np.asarray([len(batch), variables, encoded.carriers], np.int32),
        _of_strategies(encoded).astype(np.float32),
        encoded.base.astype(np.float32),
    )


def _of_strategies(encoded: Encoded) -> npt.NDArray[np.float64]:
    """[n, strategy features]: predefined features, and the prior; none of them of raw features without a prior."""
    parts = [] if encoded.features == "raw" else [encoded.predefined]
    parts += [] if encoded.prior_s is None else [encoded.base[:, None]]
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(encoded), 0))


def _strategy_features(encoded: Encoded) -> int:
    """Number of features that `_of_strategies` has, without making them."""
    return (0 if encoded.features == "raw" else len(PREDEFINED_FEATURES)) + (encoded.prior_s is not None)


class _Compiled:
    """One kind of network for so many features: its traced functions, and the shapes of its weights."""

    def __init__(self, layer_class: type[ScoringLayer], shard_features: int, strategy_features: int) -> None:
        layer = layer_class(shard_features, strategy_features)
        self.shapes = [tuple(w.shape) for w in layer.trainable_variables]
        others = [v.value for v in layer.non_trainable_variables]
        self._sizes = sizes = [math.prod(shape) for shape in self.shapes]
        # All weights in one vector: an update of each by itself takes longer than the network.
        weights = tf.TensorSpec((sum(sizes),), tf.float32)
        read = (
            tf.TensorSpec((None, shard_features), tf.float32),
            tf.TensorSpec((None,), tf.int32),
            tf.TensorSpec((None,), tf.int32),
            tf.TensorSpec((3,), tf.int32),
            tf.TensorSpec((None, strategy_features), tf.float32),
            tf.TensorSpec((None,), tf.float32),
        )
        target = tf.TensorSpec((None,), tf.float32)

        def correct(w: Any, x: Any) -> Any:
            parts = [tf.reshape(p, shape) for p, shape in zip(tf.split(w, sizes), self.shapes, strict=True)]
            return layer.stateless_call(parts, others, *x[:5])[0]

        def step(w: Any, anchor: Any, moments: Any, number: Any, x: Any, t: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(w)
                loss = _ranknet(correct(w, x) + x[5], t)
            gradient = tape.gradient(loss, w)
            # Adam (Kingma and Ba, ICLR 2015); Keras's own one keeps its state in variables.
            first = BETA_1 * moments[0] + (1 - BETA_1) * gradient
            second = BETA_2 * moments[1] + (1 - BETA_2) * gradient**2
            rate = LEARNING_RATE * tf.sqrt(1.0 - BETA_2**number) / (1.0 - BETA_1**number)
            move = rate * first / (tf.sqrt(second) + EPSILON)
            return w - move - LEARNING_RATE * WEIGHT_DECAY * (w - anchor), (first, second)

        self.correct = tf.function(correct, input_signature=[weights, read])
        self.step = tf.function(
            step, input_signature=[weights, weights, (weights, weights), tf.TensorSpec((), tf.float32), read, target]
        )

    @property
    def size(self) -> int:
        """Number of weights."""
        return sum(self._sizes)

    def parts(self, weights: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
        """The arrays of one vector of weights."""
        ends = np.cumsum(self._sizes)[:-1]
        return [p.reshape(shape) for p, shape in zip(np.split(weights, ends), self.shapes, strict=True)]

    @classmethod
    def of(cls, layer_class: Any, shard_features: int, strategy_features: int) -> "_Compiled":
        """The same one for the same arguments, in one process; any thread may ask."""
        key = (layer_class, shard_features, strategy_features)
        with cls._lock:
            if key not in cls._known:
                cls._known[key] = cls(*key)
            return cls._known[key]

    _known: ClassVar[dict[Any, "_Compiled"]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()


def _ranknet(score: Any, target: Any) -> Any:
    """As `ranknet.ranknet_loss`, by pair."""
    apart = (score[:, None] - score) / NOISE
    wanted = tf.sigmoid((target[:, None] - target) / NOISE)
    pairs = tf.nn.sigmoid_cross_entropy_with_logits(wanted, apart)
    return tf.reduce_mean(pairs)


class NetworkRanker(Ranker):
    """A network that corrects the prior, trained with RankNet's loss and Adam.

    The last layer begins at 0, so an untrained network says what the prior says. With a start, training begins at its
    weights, and weight decay holds on to them.

    Parameters
    ----------
    seed : int
        Of the first weights, and of what is drawn in training.
    """

    layer_class: type[ScoringLayer]

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def learn(self, lessons: Sequence[Lesson], start: State | None = None) -> State:
        rng = np.random.default_rng(self._seed)
        network = self._network(lessons[0].encoded)
        if start is None:
            weights, anchor = _flat(_first_weights(network.shapes, rng)), tf.zeros(network.size)
        else:
            weights = anchor = _flat(_listed(start))
        moments = (tf.zeros(network.size), tf.zeros(network.size))
        for number, (read, target) in enumerate(_schedule(lessons, rng), start=1):
            weights, moments = network.step(weights, anchor, moments, tf.constant(float(number)), read, target)
        return {f"{i:02}": w for i, w in enumerate(network.parts(weights.numpy()))}

    def correction(self, state: State, encoded: Encoded) -> npt.NDArray[np.float64]:
        network, weights = self._network(encoded), _flat(_listed(state))

        def of_chunk(chunk: Encoded) -> npt.NDArray[np.float32]:
            return np.asarray(network.correct(weights, _read(chunk)))

        # The features of one chunk are made while the network is busy with another.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return np.concatenate([np.zeros(0), *pool.map(of_chunk, encoded.chunks(CHUNK_SHARDS))])

    def check(self, state: State, encoded: Encoded) -> None:
        shapes = self._network(encoded).shapes
        if len(state) != len(shapes):
            raise InvalidInput(f"this network has {len(shapes)} arrays of weights", received=len(state))
        check_shapes(state, {f"{i:02}": shape for i, shape in enumerate(shapes)})

    def _network(self, encoded: Encoded) -> _Compiled:
        return _Compiled.of(self.layer_class, encoded.shard_features, _strategy_features(encoded))


def _listed(state: State) -> list[npt.NDArray[np.float32]]:
    return [np.asarray(state[name], np.float32) for name in sorted(state)]


def _flat(weights: Iterable[npt.NDArray[np.float32]]) -> Any:
    """All weights in one vector."""
    return tf.constant(np.concatenate([w.ravel() for w in weights]))


def _first_weights(shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Iterator[npt.NDArray[np.float32]]:
    """Glorot and Bengio's, AISTATS 2010; 0 for biases, and for the last layer."""
    for i, shape in enumerate(shapes):
        if len(shape) < 2 or i >= len(shapes) - 2:
            yield np.zeros(shape, np.float32)
        else:
            limit = np.sqrt(6.0 / (shape[0] + shape[1]))
            yield rng.uniform(-limit, limit, shape).astype(np.float32)


def _schedule(lessons: Sequence[Lesson], rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    """What each gradient step reads, and its target: each pair as often as its size allows, in random order."""
    ready = [_tensors(lesson) if len(lesson) <= MOST_COMPARED else None for lesson in lessons]
    turns: list[int] = []
    for i, lesson in enumerate(lessons):
        shards = len(lesson.encoded.batch.destination) * min(1.0, MOST_COMPARED / len(lesson))
        most = MOST_STEPS if lesson.encoded.prior_s is None else MOST_STEPS_WITH_PRIOR
        steps = int(np.clip(SHARD_STEPS // max(1.0, shards), LEAST_STEPS, most))
        turns += [i] * steps if len(lesson) > 1 else []
    for i in rng.permutation(turns).astype(int).tolist():
        yield ready[i] or _tensors(lessons[i].draw(rng, MOST_COMPARED))


def _tensors(lesson: Lesson) -> tuple[Any, Any]:
    read = tuple(tf.constant(value) for value in _read(lesson.encoded))
    return read, tf.constant(lesson.target, tf.float32)
