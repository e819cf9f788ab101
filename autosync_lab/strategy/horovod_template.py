"""What `horovod_script` fills in and writes; this package itself never imports it."""

import os
from itertools import pairwise
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf

from autosync_lab.model.keras_names import SEED_STATE, variable_names

PLAN: dict[str, tuple[int | None, tuple[tuple[int | None, str, str], ...]]] = {}
"""For each variable: its partition axis, and for each shard its group, its compressor and how its rows are reduced."""

EXACT_GROUPS = True
"""True: what is fused is what the groups say. False: Horovod fuses by itself."""

_SETTING = "HOROVOD_DISABLE_GROUP_FUSION"
_WANTED = "1" if EXACT_GROUPS else "0"
if hvd.is_initialized() and os.environ.get(_SETTING, "0") != _WANTED:
    raise RuntimeError(f"import this before hvd.init(), or set {_SETTING}={_WANTED}")
os.environ[_SETTING] = _WANTED
hvd.init()


def distributed(optimizer: Any, model: Any) -> Any:
    """A Keras optimizer like `optimizer` that first averages the gradients of a (built) Keras model over all ranks."""
    names = variable_names(model)
    unknown = sorted(PLAN.keys() - {names[id(v)] for v in model.trainable_variables})
    if unknown:
        raise ValueError(f"the model has no trainable variable {unknown[0]!r}: the strategy is for another one")
    plain = type(optimizer)

    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        variables = list(self._trainable_variables if trainable_variables is None else trainable_variables)
        return plain.apply(self, average(list(grads), variables, [names[id(v)] for v in variables]), variables)

    averaging: Any = type(plain.__name__, (plain,), {"apply": apply})
    return averaging.from_config(optimizer.get_config())


def broadcast(model: Any) -> None:
    """Give all ranks the first rank's variables; each keeps its own random state."""
    variables = [v.value for v in model.variables if not v.path.endswith(SEED_STATE)]
    hvd.broadcast_variables(variables, root_rank=0)


def average(gradients: list[Any], variables: list[Any], names: list[str]) -> list[Any]:
    """Means of gradients over all ranks, as the strategy says.

    Parameters
    ----------
    gradients : list of tf.Tensor, tf.IndexedSlices or None
        Those that are None stay so.
    variables : list of tf.Variable or keras.Variable
    names : list of str
        How the strategy calls them.
    """
    cut: dict[int, list[Any]] = {}
    fused: dict[tuple[str, str, bool], list[tuple[int, int]]] = {}
    numbers = {name: number for number, name in enumerate(PLAN)}
    for v, (gradient, variable, name) in enumerate(zip(gradients, variables, names, strict=True)):
        if gradient is None:
            continue
        if name not in PLAN:
            raise ValueError(f"the strategy says nothing of the variable {name!r}")
        axis, shards = PLAN[name]
        offsets = _offsets(variable.shape[axis or 0] if variable.shape else 1, len(shards))
        cut[v] = _cut(gradient, axis or 0, offsets)
        for s, (group, compressor, sparse_as) in enumerate(shards):
            if sparse_as == "dense":
                cut[v][s] = _dense(cut[v][s], offsets[s], offsets[s + 1])
            label = f"shard{numbers[name]}.{s}" if group is None else f"group{group}"
            fused.setdefault((label, compressor, group is not None), []).append((v, s))
    for (label, compressor, grouped), members in fused.items():
        reduced = _reduce([cut[v][s] for v, s in members], label, compressor, grouped)
        for (v, s), part in zip(members, reduced, strict=True):
            cut[v][s] = part
    return [None if g is None else _joined(cut[v], variables[v], names[v]) for v, g in enumerate(gradients)]


def _offsets(length: int, shards: int) -> list[int]:
    """Where shards begin, and the end: the first `length` mod `shards` are one longer."""
    base, longer = divmod(length, shards)
    return [s * base + min(s, longer) for s in range(shards + 1)]


def _cut(gradient: Any, axis: int, offsets: list[int]) -> list[Any]:
    if isinstance(gradient, tf.IndexedSlices) and axis > 0:
        gradient = tf.convert_to_tensor(gradient)
    if not isinstance(gradient, tf.IndexedSlices):
        lengths = [end - start for start, end in pairwise(offsets)]
        return list(tf.split(gradient, lengths, axis)) if len(lengths) > 1 else [gradient]
    rows = _merged(gradient)
    if len(offsets) == 2:
        return [rows]
    inside = [(rows.indices >= start) & (rows.indices < end) for start, end in pairwise(offsets)]
    return [
        tf.IndexedSlices(tf.boolean_mask(rows.values, i), tf.boolean_mask(rows.indices, i), rows.dense_shape)
        for i in inside
    ]


def _merged(rows: Any) -> Any:
    """The same with each row once: a row that a batch touches often crosses the network once."""
    ids, position = tf.unique(tf.cast(rows.indices, tf.int64))
    return tf.IndexedSlices(tf.math.unsorted_segment_sum(rows.values, position, tf.size(ids)), ids, rows.dense_shape)


def _dense(part: Any, start: int, end: int) -> Any:
    """A shard as a tensor; it has the rows from `start` to `end`."""
    if not isinstance(part, tf.IndexedSlices):
        return part
    return tf.math.unsorted_segment_sum(part.values, part.indices - start, end - start)


def _reduce(parts: list[Any], label: str, compressor: str, grouped: bool) -> list[Any]:
    """Means of the members of one group: one collective for each dtype, two for rows."""
    kinds: dict[tuple[str, bool], list[int]] = {}
    for i, part in enumerate(parts):
        kinds.setdefault((part.dtype.name, isinstance(part, tf.IndexedSlices)), []).append(i)
    reduced = list(parts)
    for (dtype, rows), members in kinds.items():
        chosen, name = [parts[i] for i in members], f"{label}.{dtype}"
        means = _gather(chosen, name) if rows else _all_reduce(chosen, name, compressor, grouped)
        for i, mean in zip(members, means, strict=True):
            reduced[i] = mean
    return reduced


def _all_reduce(parts: list[Any], name: str, compressor: str, grouped: bool) -> list[Any]:
    compression = hvd.Compression.fp16 if compressor == "fp16" else hvd.Compression.none
    if not grouped:
        return [hvd.allreduce(part, op=hvd.Average, compression=compression, name=name) for part in parts]
    return list(hvd.grouped_allreduce(parts, op=hvd.Average, compression=compression, name=name))


def _gather(parts: list[Any], name: str) -> list[Any]:
    values = hvd.grouped_allgather([part.values for part in parts], name=f"{name}.values")
    ids = hvd.grouped_allgather([part.indices for part in parts], name=f"{name}.ids")
    share = 1.0 / hvd.size()
    return [
        _merged(tf.IndexedSlices(v * tf.cast(share, v.dtype), i, part.dense_shape))
        for v, i, part in zip(values, ids, parts, strict=True)
    ]


def _joined(parts: list[Any], variable: Any, name: str) -> Any:
    if all(isinstance(part, tf.IndexedSlices) for part in parts):
        if len(parts) == 1:
            return parts[0]
        values, ids = tf.concat([p.values for p in parts], 0), tf.concat([p.indices for p in parts], 0)
        return tf.IndexedSlices(values, ids, parts[0].dense_shape)
    axis = PLAN[name][0] or 0
    offsets = _offsets(variable.shape[axis] if variable.shape else 1, len(parts))
    tensors = [_dense(part, start, end) for part, (start, end) in zip(parts, pairwise(offsets), strict=True)]
    return tf.ensure_shape(tf.concat(tensors, axis) if len(tensors) > 1 else tensors[0], variable.shape)
