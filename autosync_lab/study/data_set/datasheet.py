"""A data set's datasheet: how and where it was measured, what it holds, and how much it can be trusted.

After Gebru et al., "Datasheets for datasets", 2021. Every figure is worked out from the data set itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator.ranking import noise_ceiling, repeat_noise
from autosync_lab.strategy.builders import builder_names
from autosync_lab.study.data_set.data_set import DataSet
from autosync_lab.study.data_set.plan import RANDOM, RANDOM_PRUNED, REPEATED

KINDS = ("random", "pruned", "builders", "searched", "repeated")

HOW = """\
Every row is one trial: real worker processes of one distributed TensorFlow step (gRPC parameter servers and Horovod
collectives in one graph), on a cluster that is emulated on one machine: each node is a network namespace with its own
address and rate-limited link. All processes share that machine's cores, so compute and the work of messages weigh more
than on a real cluster of the same bandwidths. A trial has {warmup} steps that are not timed and {steps} that are; its
step time is the median over steps of the slowest worker. What else took the machine's time meanwhile is in the times
too, and shows in the noise below.
"""

HOLDS = """\
Kinds of strategies: *random* ones of the whole space (lossy compressors included), *pruned* ones of what the default
constraints leave, hand-made *builders*, *searched* ones that `autosync` proposed, and *repeated* ones. Step times in
milliseconds.
"""

TRUST = """\
Noise is the standard deviation of the logarithm of one measured step time, from strategies that were measured several
times, minutes to hours apart. The ceiling is the ranking accuracy that the true step times would have on the random
strategies: no simulator beats it but by luck.
"""

FILES = """\
`trials.parquet` has one row per trial; `data_set.json` the models with their measured compute times, the clusters, and
the clusters' calibrations. `autosync_lab.study.data_set.DataSet.read(FOLDER)` reads both, `autosync-lab collect FOLDER`
measures more.
"""


def datasheet(data_set: DataSet) -> str:
    """The datasheet, as Markdown."""
    ok = [t for t in data_set.trials if t.status == "ok"]
    simulated = sum(t.simulated for t in data_set.trials)
    parts = [
        "# Datasheet: measured step times of synchronization strategies",
        f"{len(ok)} trials that succeeded and {len(data_set.trials) - len(ok)} that did not, on"
        f" {len(data_set.pairs)} pairs of a model and a cluster."
        f" {f'{simulated} of them are simulated' if simulated else 'All are measured; none is simulated'}.",
        "## How it was measured",
        HOW.format(warmup=_values(t.warmup for t in ok), steps=_values(t.steps for t in ok)).strip(),
        _table(("", ""), _circumstances(ok)),
        "## What it holds",
        HOLDS.strip(),
        _table(("model", "cluster", *KINDS, "fastest", "median", "slowest"), _composition(data_set)),
        "## How far step times can be trusted",
        TRUST.strip(),
        _table(("model", "cluster", "repeated", "noise", "ceiling"), _trust(data_set)),
        "## Files",
        FILES.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def _circumstances(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    versions = sorted({(k, v) for t in trials for k, v in t.versions.items()})
    when = sorted(t.created for t in trials)
    return [
        ("from, to (UTC)", f"{when[0][:16]}, {when[-1][:16]}" if when else ""),
        ("launcher", _values(t.launcher for t in trials)),
        ("optimizer", _values(t.optimizer for t in trials)),
        ("versions", ", ".join(f"{k} {v}" for k, v in versions)),
    ]


def _composition(data_set: DataSet) -> list[tuple[str, ...]]:
    rows = []
    for model, cluster in data_set.pairs:
        trials = data_set.of(model, cluster)
        count = Counter(_kind(t) for t in trials)
        times = np.asarray([t.step_time_s for t in trials]) * 1e3
        figures = (f"{value:.0f}" for value in (times.min(), np.median(times), times.max()))
        rows.append((model, cluster, *(str(count[kind]) for kind in KINDS), *figures))
    return rows


def _trust(data_set: DataSet) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for model, cluster in data_set.pairs:
        trials = data_set.of(model, cluster)
        noise = repeat_noise([(t.strategy_id or "", t.step_time_s) for t in trials])
        again = Counter(t.strategy_id for t in trials)
        drawn = np.asarray([t.step_time_s for t in trials if t.label in (RANDOM, RANDOM_PRUNED)])
        known = np.isfinite(noise) and len(drawn) > 1
        rows.append(
            (
                model,
                cluster,
                str(sum(n > 1 for n in again.values())),
                f"{noise:.1%}" if np.isfinite(noise) else "unknown",
                f"{noise_ceiling(drawn, noise):.3f}" if known else "unknown",
            )
        )
    return rows


def _kind(trial: Trial) -> str:
    if trial.label in (RANDOM, RANDOM_PRUNED, REPEATED):
        return {RANDOM: "random", RANDOM_PRUNED: "pruned", REPEATED: "repeated"}[trial.label]
    return "builders" if trial.label in builder_names() else "searched"


def _values(values: Iterable[object]) -> str:
    return ", ".join(sorted({str(v) for v in values}))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
