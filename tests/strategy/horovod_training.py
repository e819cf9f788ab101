"""One rank of a training with exported modules; run by `test_horovod_script` as a program of its own.

Trains the same small Keras model with each module that the command line names, then, on the first rank, with plain
Keras on the batches of all ranks put together. The first rank writes parameters, and what it called of Horovod, to a
folder.
"""

import importlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 4
BATCH = 6
ROWS = 23


def build() -> Any:
    """An embedding and two dense layers."""
    import keras

    keras.utils.set_random_seed(7)
    ids, features = keras.Input((3,), dtype="int32"), keras.Input((5,))
    rows = keras.layers.Flatten()(keras.layers.Embedding(ROWS, 4, name="table")(ids))
    hidden = keras.layers.Dense(8, activation="tanh")(keras.layers.Concatenate()([rows, features]))
    return keras.Model([ids, features], keras.layers.Dense(2)(hidden))


def batch(step: int, rank: int) -> tuple[list[Any], Any]:
    """Inputs and targets; row 5 is touched often, so rows repeat within a batch and between ranks."""
    rng = np.random.default_rng([step, rank])
    ids = rng.integers(ROWS, size=(BATCH, 3)).astype(np.int32)
    ids[:, 0] = 5
    x = rng.normal(size=(BATCH, 5)).astype(np.float32)
    return [ids, x], rng.normal(size=(BATCH, 2)).astype(np.float32)


def optimizer() -> Any:
    """SGD with momentum, so that a step depends on those before it."""
    import keras

    return keras.optimizers.SGD(0.1, momentum=0.9)


def train(model: Any, optimizer: Any, batches: list[tuple[list[Any], Any]]) -> dict[str, Any]:
    """Parameters after training."""
    model.compile(optimizer, "mse", jit_compile=False)
    for x, y in batches:
        model.train_on_batch(x, y)
    return {v.path: v.numpy() for v in model.trainable_variables}


def record(hvd: Any, calls: list[list[Any]]) -> None:
    """Write down each collective: its kind, its name, how many tensors it fuses, its compression."""

    def call(kind: str, original: Any, tensors: Any, *, name: str, **more: Any) -> Any:
        compression = more["compression"].__name__ if "compression" in more else ""
        calls.append([kind, name, len(tensors) if isinstance(tensors, list) else 1, compression])
        return original(tensors, name=name, **more)

    for kind in ("allreduce", "grouped_allreduce", "grouped_allgather"):
        setattr(hvd, kind, partial(call, kind, getattr(hvd, kind)))


def main(folder: Path, modules: list[str]) -> None:
    """Train with each module in turn."""
    sys.path.insert(0, str(folder))
    calls: list[list[Any]] = []
    results: dict[str, Any] = {}
    for name in modules:
        try:
            module = importlib.import_module(name)
        except RuntimeError as error:
            results[name] = str(error)
            continue
        hvd = module.hvd
        if not calls:
            record(hvd, calls)
        calls.clear()
        model = build()
        if hvd.rank() > 0:
            # Only `broadcast` can mend this.
            for variable in model.trainable_variables:
                variable.assign(variable + 1.0)
        averaging = module.distributed(optimizer(), model)
        module.broadcast(model)
        parameters = train(model, averaging, [batch(step, hvd.rank()) for step in range(STEPS)])
        results[name] = [list(call) for call in calls]
        np.savez(folder / f"{name}-{hvd.rank()}.npz", *parameters.values())
    if hvd.rank() == 0:
        whole = []
        for step in range(STEPS):
            (ids, x), y = batch(step, 0)
            for rank in range(1, hvd.size()):
                (more_ids, more_x), more_y = batch(step, rank)
                ids, x, y = np.concatenate([ids, more_ids]), np.concatenate([x, more_x]), np.concatenate([y, more_y])
            whole.append(([ids, x], y))
        np.savez(folder / "alone.npz", *train(build(), optimizer(), whole).values())
        (folder / "calls.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
